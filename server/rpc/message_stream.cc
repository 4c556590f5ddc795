#include "server/rpc/message_stream.h"

#include "server/rpc/flat_message.h"

namespace vfsd::rpc {

MessageStream::MessageStream(Owner& owner, RawService& service,
                             int method_index, const StreamMethod& method,
                             CallRecord record, SlowLog& slow_log,
                             Worker& worker, grpc::ServerCompletionQueue& queue)
    : owner_(owner),
      service_(service),
      method_index_(method_index),
      method_(method),
      record_(record),
      slow_log_(slow_log),
      worker_(worker),
      queue_(queue) {}

void MessageStream::Post() {
  stream_.reset();
  context_.emplace();
  stream_.emplace(&*context_);
  message_.Clear();
  session_ = 0;
  answer_size_ = 0;
  began_ = reading_ = writing_ = finishing_ = finished_ = has_message_ =
      half_closed_ = false;
  service_.RequestStream(method_index_, &*context_, &*stream_, &queue_,
                         arrived_tag_.Arm());
}

void MessageStream::Drain() {
  if (began_ && !writing_ && !has_message_)
    Finish(Failure(Reason::kDraining).status());
}

void MessageStream::OnArrived(bool ok) {
  // Not ok: the server shuts down, and no stream will come.
  if (!ok) return;
  began_ = true;
  record_.Start();
  owner_.Began(*this);
  if (worker_.backend.draining.load(std::memory_order_relaxed)) {
    return Finish(Failure(Reason::kDraining).status());
  }
  Read();
}

void MessageStream::Read() {
  reading_ = true;
  stream_->Read(&message_, read_tag_.Arm());
}

void MessageStream::OnRead(bool ok) {
  reading_ = false;
  if (finishing_) return EndIfFree();
  if (ok) {
    record_.CountReceived();
    has_message_ = true;
  } else {
    // The client has sent all, or is gone.
    half_closed_ = true;
  }
  if (writing_) return;
  if (has_message_) {
    RunMessage();
  } else {
    Finish(grpc::Status::OK);
  }
}

void MessageStream::RunMessage() {
  has_message_ = false;
  WireWriter& writer = worker_.writer;
  writer.SetFirstChunk(answer_size_);
  const FlatMessage message(message_);
  const SlowLog::Clock::time_point start = SlowLog::Clock::now();
  const Outcome<size_t> operations =
      method_.run(worker_, session_, message.bytes());
  if (!operations.has_value()) {
    writer.Discard();
    return Finish(operations.error().status());
  }
  slow_log_.Note(record_.method(), *operations, SlowLog::Clock::now() - start);
  answer_size_ = writer.size();
  record_.CountSent();
  writing_ = true;
  stream_->Write(writer.Take(), written_tag_.Arm());
  Read();
}

void MessageStream::OnWritten(bool ok) {
  writing_ = false;
  if (finishing_) return EndIfFree();
  if (!ok) {
    Finish(grpc::Status::CANCELLED);
  } else if (worker_.backend.draining.load(std::memory_order_relaxed)) {
    Finish(Failure(Reason::kDraining).status());
  } else if (has_message_) {
    RunMessage();
  } else if (half_closed_) {
    Finish(grpc::Status::OK);
  }
}

void MessageStream::Finish(const grpc::Status& status) {
  if (finishing_) return;
  finishing_ = true;
  record_.End(status.error_code());
  stream_->Finish(status, finished_tag_.Arm());
}

void MessageStream::OnFinished(bool) {
  finished_ = true;
  EndIfFree();
}

void MessageStream::EndIfFree() {
  if (finished_ && !reading_ && !writing_) owner_.Ended(*this);
}

}  // namespace vfsd::rpc
