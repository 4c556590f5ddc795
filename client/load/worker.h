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
#include "client/load/metronome.h"

namespace vfsload {

class Worker {
 public:
  Worker(Recorder& recorder, RunState& state, std::unique_ptr<Pacer> pacer,
         const ExpectedDurations& expected);
  ~Worker();

  LaneContext ContextFor(Connection& connection);
  void AddLane(std::unique_ptr<Lane> lane) {
    lanes_.push_back(std::move(lane));
  }

  void Run();

 private:
  bool Idle() const;
  // In an open loop: starts what is due on lanes that have a place free.
  void WakeLanes();

  Recorder& recorder_;
  RunState& state_;
  std::unique_ptr<Pacer> pacer_;
  const ExpectedDurations& expected_;
  ReplyCheck check_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t next_lane_ = 0;
  std::unique_ptr<Metronome> metronome_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_WORKER_H_
