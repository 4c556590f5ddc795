// A thread of the load: a completion queue and the lanes that it drives.
//
// Lanes are added before Run; Run is the thread's function and returns when all
// lanes are idle. Owned by the phase.
#ifndef CLIENT_LOAD_WORKER_H_
#define CLIENT_LOAD_WORKER_H_

#include <grpcpp/completion_queue.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "client/load/lane.h"

namespace vfsload {

class Worker {
 public:
  // Stops after `count` units, or when `state` says so.
  Worker(Recorder& recorder, RunState& state, std::optional<uint64_t> count);
  ~Worker();

  LaneContext ContextFor(Connection& connection);
  void AddLane(std::unique_ptr<Lane> lane) {
    lanes_.push_back(std::move(lane));
  }

  void Run();

 private:
  bool Idle() const;

  Recorder& recorder_;
  RunState& state_;
  ClosedLoopPacer pacer_;
  ReplyCheck check_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_WORKER_H_
