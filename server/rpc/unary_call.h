// UnaryCall: a place for one unary call of one method at a time, posted to a
// queue: it waits for a call, runs it on the queue's thread and answers.
//
// Owned by its CallQueue; only the queue's thread touches it.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>

#include <optional>

#include "server/rpc/call_places.h"
#include "server/rpc/call_record.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/raw_service.h"
#include "server/rpc/unary_methods.h"

namespace vfsd::rpc {

class UnaryCall {
 public:
  using Owner = CallPlacesOwner<UnaryCall>;

  // method_index: in the service. record: of this method.
  UnaryCall(Owner& owner, RawService& service, int method_index,
            const UnaryMethod& method, CallRecord record, SlowLog& slow_log,
            Worker& worker, grpc::ServerCompletionQueue& queue);

  // Waits for a call.
  void Post();

 private:
  void OnArrived(bool ok);
  void OnAnswered(bool ok);
  void Answer(const Outcome<void>& outcome);
  // Whether an answer may wait to be sent: a small one always, a large one
  // while not too many do.
  bool MayWait(size_t bytes) const;

  Owner& owner_;
  RawService& service_;
  const int method_index_;
  const UnaryMethod& method_;
  CallRecord record_;
  SlowLog& slow_log_;
  Worker& worker_;
  grpc::ServerCompletionQueue& queue_;

  // gRPC's objects serve one call; they are made again for the next.
  std::optional<grpc::ServerContext> context_;
  std::optional<RawUnaryResponder> responder_;
  grpc::ByteBuffer request_;
  size_t unsent_bytes_ = 0;  // of its answer, if that is a large one
  MemberTag<UnaryCall> arrived_{this, &UnaryCall::OnArrived};
  MemberTag<UnaryCall> answered_{this, &UnaryCall::OnAnswered};
};

}  // namespace vfsd::rpc
