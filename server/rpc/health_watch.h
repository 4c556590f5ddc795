// HealthWatch: a place for one call of Health.Watch at a time: tells the status
// at once and whenever it changes, until the client has enough or the server
// shuts down. It holds one small message at most.
//
// Owned by its CallQueue; only the queue's thread touches it.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>

#include <optional>
#include <string>

#include "server/rpc/call_places.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/health.h"
#include "server/rpc/raw_service.h"
#include "server/rpc/worker.h"

namespace vfsd::rpc {

class HealthWatch {
 public:
  using Owner = CallPlacesOwner<HealthWatch>;

  HealthWatch(Owner& owner, RawService& service, int method_index,
              Worker& worker, grpc::ServerCompletionQueue& queue);

  // Waits for a call.
  void Post();
  // The status may have changed.
  void Update() { Advance(); }
  // The server shuts down: a watch that is under way ends.
  void End();

 private:
  void OnArrived(bool ok);
  void OnWritten(bool ok);
  void OnGone(bool ok);
  void OnFinished(bool ok);

  // Does what is next, if nothing is under way.
  void Advance();
  void Finish(const grpc::Status& status);
  void EndIfFree();

  Owner& owner_;
  RawService& service_;
  const int method_index_;
  Worker& worker_;
  grpc::ServerCompletionQueue& queue_;

  // Of the call that is under way.
  std::optional<grpc::ServerContext> context_;
  std::optional<RawWriter> writer_;
  grpc::ByteBuffer request_;
  std::string subject_;
  std::optional<ServingStatus> told_;
  bool began_ = false;
  bool writing_ = false;
  bool gone_ = false;  // the client, or the connection
  bool ending_ = false;
  bool finishing_ = false;
  bool finished_ = false;

  MemberTag<HealthWatch> arrived_tag_{this, &HealthWatch::OnArrived};
  MemberTag<HealthWatch> written_tag_{this, &HealthWatch::OnWritten};
  MemberTag<HealthWatch> gone_tag_{this, &HealthWatch::OnGone};
  MemberTag<HealthWatch> finished_tag_{this, &HealthWatch::OnFinished};
};

}  // namespace vfsd::rpc
