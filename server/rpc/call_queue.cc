#include "server/rpc/call_queue.h"

#include <algorithm>
#include <cassert>
#include <span>
#include <utility>

namespace vfsd::rpc {
namespace {

// The row of one of the tables of methods.
template <typename Method>
const Method& FindMethod(std::span<const Method> table,
                         const google::protobuf::MethodDescriptor& method) {
  const auto found = std::ranges::find_if(table, [&](const Method& row) {
    return row.service == method.service()->full_name() &&
           row.name == method.name();
  });
  assert(found != table.end() &&
         "a method of the API without a row in the table");
  return *found;
}

const auto kNow = gpr_timespec{0, 0, GPR_CLOCK_REALTIME};

}  // namespace

CallQueue::CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue,
                     Backend& backend, const ServiceNames& services,
                     std::chrono::nanoseconds slow_threshold)
    : queue_(std::move(queue)),
      worker_(backend, services),
      slow_log_(slow_threshold) {}

CallQueue::~CallQueue() {
  if (!stopped_) {
    // gRPC wants every queue shut down and empty.
    queue_->Shutdown();
    Serve();
  }
}

void CallQueue::Start(const std::vector<PostedService>& services,
                      int calls_per_method) {
  for (const PostedService& posted : services) {
    const google::protobuf::ServiceDescriptor& descriptor =
        posted.service->descriptor();
    for (int index = 0; index < descriptor.method_count(); ++index) {
      const google::protobuf::MethodDescriptor& method =
          *descriptor.method(index);
      if (method.client_streaming()) {
        PostStream(posted, index);
      } else if (method.server_streaming()) {
        PostWatch(posted, index);
      } else {
        PostUnary(posted, index, calls_per_method);
      }
    }
  }
  thread_ = std::thread([this] { Serve(); });
}

CallRecord CallQueue::RecordOf(const PostedService& posted, int index) const {
  return CallRecord(*posted.statistics,
                    posted.first_statistics_index + static_cast<size_t>(index));
}

void CallQueue::PostUnary(const PostedService& posted, int index, int calls) {
  const UnaryMethod& row =
      FindMethod(UnaryMethods(), *posted.service->descriptor().method(index));
  unary_calls_.push_back(std::make_unique<CallPlaces<UnaryCall>>(
      calls, [this, posted, index, &row](UnaryCall::Owner& owner) {
        return std::make_unique<UnaryCall>(owner, *posted.service, index, row,
                                           RecordOf(posted, index), slow_log_,
                                           worker_, *queue_);
      }));
}

void CallQueue::PostStream(const PostedService& posted, int index) {
  const StreamMethod& row =
      FindMethod(StreamMethods(), *posted.service->descriptor().method(index));
  streams_.push_back(std::make_unique<CallPlaces<MessageStream>>(
      1, [this, posted, index, &row](MessageStream::Owner& owner) {
        return std::make_unique<MessageStream>(owner, *posted.service, index,
                                               row, RecordOf(posted, index),
                                               slow_log_, worker_, *queue_);
      }));
}

void CallQueue::PostWatch(const PostedService& posted, int index) {
  assert(posted.service->descriptor().full_name() == kHealthService);
  watches_.push_back(std::make_unique<CallPlaces<HealthWatch>>(
      1, [this, posted, index](HealthWatch::Owner& owner) {
        return std::make_unique<HealthWatch>(owner, *posted.service, index,
                                             worker_, *queue_);
      }));
}

void CallQueue::Serve() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) {
    // Nothing may begin on a queue that has shut down, and the calls that are
    // left are cancelled.
    if (!stopping_) CompletionTag::Deliver(tag, ok);
  }
}

void CallQueue::Drain() {
  drain_alarm_.Set(queue_.get(), kNow, drain_tag_.Arm());
}

void CallQueue::OnDrain(bool) {
  for (const auto& places : streams_)
    places->ForEach([](MessageStream& stream) { stream.Drain(); });
  for (const auto& places : watches_)
    places->ForEach([](HealthWatch& watch) { watch.Update(); });
}

void CallQueue::EndWatches() {
  end_watches_alarm_.Set(queue_.get(), kNow, end_watches_tag_.Arm());
}

void CallQueue::OnEndWatches(bool) {
  for (const auto& places : watches_)
    places->ForEach([](HealthWatch& watch) { watch.End(); });
}

void CallQueue::Stop() {
  // On the queue's own thread, so that no call is posted to a queue that has
  // shut down.
  stop_alarm_.Set(queue_.get(), kNow, stop_tag_.Arm());
  thread_.join();
  stopped_ = true;
}

void CallQueue::OnStop(bool) {
  stopping_ = true;
  queue_->Shutdown();
}

}  // namespace vfsd::rpc
