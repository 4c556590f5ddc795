#include "server/rpc/unary_call.h"

#include <utility>

#include "server/rpc/flat_message.h"

namespace vfsd::rpc {
namespace {

// A connection may have thousands of calls at once. Small answers to all of
// them are nothing; of large ones (pages of directories, reads) only so many
// bytes may wait on a queue for clients that do not read.
constexpr size_t kLargeAnswerBytes = size_t{64} * 1024;
constexpr size_t kMaxUnsentBytes = size_t{128} * 1024 * 1024;

}  // namespace

UnaryCall::UnaryCall(Owner& owner, RawService& service, int method_index,
                     const UnaryMethod& method, CallRecord record,
                     SlowLog& slow_log, Worker& worker,
                     grpc::ServerCompletionQueue& queue)
    : owner_(owner),
      service_(service),
      method_index_(method_index),
      method_(method),
      record_(record),
      slow_log_(slow_log),
      worker_(worker),
      queue_(queue) {}

void UnaryCall::Post() {
  responder_.reset();
  context_.emplace();
  responder_.emplace(&*context_);
  service_.RequestUnary(method_index_, &*context_, &request_, &*responder_,
                        &queue_, arrived_.Arm());
}

void UnaryCall::OnArrived(bool ok) {
  // Not ok: the server shuts down, and no call will come.
  if (!ok) return;
  record_.Start();
  owner_.Began(*this);
  const FlatMessage message(request_);
  if (worker_.backend.refusing.load(std::memory_order_relaxed) &&
      method_.refusable) {
    return Answer(std::unexpected(Failure(Reason::kDraining)));
  }
  Answer(message.bytes().size() > worker_.backend.limits.max_message_bytes
             ? std::unexpected(Failure(Reason::kBatchTooLarge))
             : method_.run(worker_, message.bytes()));
}

bool UnaryCall::MayWait(size_t bytes) const {
  return bytes <= kLargeAnswerBytes ||
         worker_.unsent_bytes + bytes <= kMaxUnsentBytes;
}

void UnaryCall::Answer(const Outcome<void>& outcome) {
  if (outcome.has_value()) {
    const size_t bytes = worker_.writer.size();
    if (!MayWait(bytes))
      return Answer(std::unexpected(Failure(Reason::kUnreadAnswers)));
    if (bytes > kLargeAnswerBytes) {
      unsent_bytes_ = bytes;
      worker_.unsent_bytes += bytes;
    }
    slow_log_.Note(record_.method(), 1, record_.End(grpc::StatusCode::OK));
    responder_->Finish(worker_.writer.Take(), grpc::Status::OK,
                       answered_.Arm());
    return;
  }
  worker_.writer.Discard();
  const grpc::Status& status = outcome.error().status();
  slow_log_.Note(record_.method(), 1, record_.End(status.error_code()));
  responder_->FinishWithError(status, answered_.Arm());
}

// Not ok: the client is gone, which is nothing to us.
void UnaryCall::OnAnswered(bool) {
  worker_.unsent_bytes -= std::exchange(unsent_bytes_, 0);
  owner_.Ended(*this);
}

}  // namespace vfsd::rpc
