#include "server/rpc/call_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace vfsd::rpc {
namespace {

const UnaryMethod& FindMethod(std::string_view service, std::string_view name) {
  const std::span<const UnaryMethod> methods = UnaryMethods();
  const auto found =
      std::ranges::find_if(methods, [&](const UnaryMethod& method) {
        return method.service == service && method.name == name;
      });
  assert(found != methods.end() &&
         "a method of the API without a row in the table");
  return *found;
}

const auto kNow = gpr_timespec{0, 0, GPR_CLOCK_REALTIME};

}  // namespace

CallQueue::CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue,
                     Backend& backend, std::chrono::nanoseconds slow_threshold)
    : queue_(std::move(queue)), worker_(backend), slow_log_(slow_threshold) {}

CallQueue::~CallQueue() {
  if (!stopped_) {
    // gRPC wants every queue shut down and empty.
    queue_->Shutdown();
    Serve();
  }
}

void CallQueue::Start(const std::vector<PostedService>& services,
                      CallStatistics& statistics, int calls_per_method) {
  for (const PostedService& posted : services) {
    const google::protobuf::ServiceDescriptor& descriptor =
        posted.service->descriptor();
    for (int index = 0; index < descriptor.method_count(); ++index) {
      const google::protobuf::MethodDescriptor& method =
          *descriptor.method(index);
      const CallRecord record(statistics, posted.first_statistics_index +
                                              static_cast<size_t>(index));
      if (method.client_streaming()) {
        make_stream_ = [this, service = posted.service, index, record] {
          return std::make_unique<BatchStream>(*this, *service, index, record,
                                               slow_log_, worker_, *queue_);
        };
        for (int i = 0; i < calls_per_method; ++i) {
          streams_.push_back(make_stream_());
          streams_.back()->Post();
        }
        continue;
      }
      const UnaryMethod& row =
          FindMethod(descriptor.full_name(), method.name());
      for (int i = 0; i < calls_per_method; ++i) {
        unary_calls_.push_back(std::make_unique<UnaryCall>(
            *posted.service, index, row, record, slow_log_, worker_, *queue_));
        unary_calls_.back()->Post();
      }
    }
  }
  thread_ = std::thread([this] { Serve(); });
}

void CallQueue::Serve() {
  void* tag = nullptr;
  bool ok = false;
  while (queue_->Next(&tag, &ok)) CompletionTag::Deliver(tag, ok);
}

void CallQueue::Drain() {
  drain_alarm_.Set(queue_.get(), kNow, drain_tag_.Arm());
}

void CallQueue::OnDrain(bool) {
  for (const std::unique_ptr<BatchStream>& stream : streams_) stream->Drain();
}

void CallQueue::Stop() {
  // On the queue's own thread, so that no call is posted to a queue that has
  // shut down.
  stop_alarm_.Set(queue_.get(), kNow, stop_tag_.Arm());
  thread_.join();
  stopped_ = true;
}

void CallQueue::OnStop(bool) { queue_->Shutdown(); }

void CallQueue::StreamBegan(BatchStream&) {
  if (spare_streams_.empty()) {
    streams_.push_back(make_stream_());
    streams_.back()->Post();
    return;
  }
  BatchStream* spare = spare_streams_.back();
  spare_streams_.pop_back();
  spare->Post();
}

void CallQueue::StreamEnded(BatchStream& stream) {
  spare_streams_.push_back(&stream);
}

}  // namespace vfsd::rpc
