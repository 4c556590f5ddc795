// A lane: one worker's use of one connection.
//
// The transport is behind it: unary calls (unary_lane.h) or a batch stream
// (batch_lane.h). A lane is driven by its worker's thread alone: Start, then
// completions, until it is Idle. What it shares with others it only reads (the
// connection, the units) or writes as the single writer (the recorder).
#ifndef CLIENT_LOAD_LANE_H_
#define CLIENT_LOAD_LANE_H_

#include <grpcpp/completion_queue.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/load/connection.h"
#include "client/load/pacer.h"
#include "client/load/recorder.h"
#include "client/load/reply_check.h"
#include "client/load/run_state.h"
#include "client/load/unit_clock.h"

namespace vfsload {

// The tag of every asynchronous call on a worker's completion queue.
class CompletionTag {
 public:
  virtual void OnCompletion(bool ok) = 0;

 protected:
  ~CompletionTag() = default;
};

// What a lane works with; all outlive it.
struct LaneContext {
  Connection& connection;
  grpc::CompletionQueue& queue;
  Pacer& pacer;
  Recorder& recorder;
  ReplyCheck& check;
  RunState& state;
  const ExpectedDurations& expected;
};

class Lane {
 public:
  virtual ~Lane() = default;
  virtual void Start() = 0;
  // In an open loop: whether something waited for its time, and does so no
  // longer (its time had come, or there is no more to do).
  virtual bool Wake() = 0;
  // Nothing is under way, and nothing will be.
  virtual bool Idle() const = 0;
  // Cancels what is under way; completions follow.
  virtual void Cancel() = 0;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_LANE_H_
