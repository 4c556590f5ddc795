// Asking a server what a plan says, in its order, and comparing the answers.
//
// One operation after the other: unary, each when the one before is answered,
// or as batches; as fast as it goes, or not before its time in the trace. The
// order is the trace's own, so that the answers can be the recorded ones. Uses
// blocking calls on one session. One thread.
#ifndef CLIENT_LOAD_REPLAY_H_
#define CLIENT_LOAD_REPLAY_H_

#include <chrono>
#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "client/lib/error.h"
#include "client/lib/session.h"
#include "client/load/latency_histogram.h"
#include "client/load/replay_plan.h"

namespace vfsload {

struct ReplayOptions {
  // Most operations a message; 0 or 1: unary calls.
  size_t batch = 1;
  // How much faster than the trace; none: as fast as it goes.
  std::optional<double> speed;
};

struct ReplayDifference {
  size_t operation = 0;  // index in the plan
  int got_errno = 0;
};

struct ReplayOutcome {
  size_t answered = 0;
  // Not sent: they use a file whose open failed here and not in the trace.
  size_t without_file = 0;
  std::vector<ReplayDifference> differences;
  std::chrono::nanoseconds elapsed{0};
  // Of calls or messages, from the send; and with `speed` from the time that
  // the trace has for them.
  LatencyHistogram service;
  LatencyHistogram response;
  // The server went away, or refused.
  std::optional<vfsclient::Error> failure;
  bool interrupted = false;
};

// Makes what the trace found at its start, below `root`, which exists.
std::expected<void, vfsclient::Error> PrepareTree(
    const vfsclient::Session& session, const std::string& root,
    const std::vector<TraceTree::Entry>& tree);

ReplayOutcome Replay(const vfsclient::Session& session, const ReplayPlan& plan,
                     const ReplayOptions& options);

}  // namespace vfsload

#endif  // CLIENT_LOAD_REPLAY_H_
