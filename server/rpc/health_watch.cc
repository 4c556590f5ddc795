#include "server/rpc/health_watch.h"

#include <utility>

#include "server/rpc/flat_message.h"

namespace vfsd::rpc {

HealthWatch::HealthWatch(Owner& owner, RawService& service, int method_index,
                         Worker& worker, grpc::ServerCompletionQueue& queue)
    : owner_(owner),
      service_(service),
      method_index_(method_index),
      worker_(worker),
      queue_(queue) {}

void HealthWatch::Post() {
  writer_.reset();
  context_.emplace();
  writer_.emplace(&*context_);
  request_.Clear();
  told_.reset();
  began_ = writing_ = gone_ = ending_ = finishing_ = finished_ = false;
  context_->AsyncNotifyWhenDone(gone_tag_.Arm());
  service_.RequestServerStream(method_index_, &*context_, &request_, &*writer_,
                               &queue_, arrived_tag_.Arm());
}

void HealthWatch::End() {
  ending_ = true;
  Advance();
}

void HealthWatch::OnArrived(bool ok) {
  // Not ok: the server shuts down, and no call will come.
  if (!ok) return;
  began_ = true;
  owner_.Began(*this);
  const FlatMessage message(request_);
  std::optional<std::string> subject = HealthSubject(message.bytes());
  if (!subject.has_value())
    return Finish(Failure(Reason::kMalformedRequest).status());
  subject_ = *std::move(subject);
  Advance();
}

void HealthWatch::OnWritten(bool) {
  writing_ = false;
  if (finishing_) return EndIfFree();
  Advance();
}

void HealthWatch::OnGone(bool) {
  gone_ = true;
  if (finishing_) return EndIfFree();
  Advance();
}

void HealthWatch::Advance() {
  if (!began_ || writing_ || finishing_) return;
  if (gone_) return Finish(grpc::Status::CANCELLED);
  if (const ServingStatus status = HealthOf(worker_, subject_);
      told_ != status) {
    told_ = status;
    writing_ = true;
    EncodeHealth(status, worker_.writer);
    return writer_->Write(worker_.writer.Take(), written_tag_.Arm());
  }
  if (ending_) Finish(Failure(Reason::kDraining).status());
}

void HealthWatch::Finish(const grpc::Status& status) {
  finishing_ = true;
  writer_->Finish(status, finished_tag_.Arm());
}

void HealthWatch::OnFinished(bool) {
  finished_ = true;
  EndIfFree();
}

void HealthWatch::EndIfFree() {
  if (finished_ && gone_ && !writing_) owner_.Ended(*this);
}

}  // namespace vfsd::rpc
