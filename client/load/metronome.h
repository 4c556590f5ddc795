// Wakes a worker that waits at its completion queue at a moment of its choice.
//
// A completion queue's own deadlines are as coarse as epoll's, a millisecond,
// which is several calls long. So a thread sleeps until the moment, to the
// kernel's own precision, and then completes an alarm on the queue. Arm and
// OnCompletion are the worker's; destroy it before the queue is shut down.
#ifndef CLIENT_LOAD_METRONOME_H_
#define CLIENT_LOAD_METRONOME_H_

#include <absl/base/thread_annotations.h>
#include <absl/synchronization/mutex.h>
#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <chrono>
#include <optional>
#include <thread>

#include "client/load/lane.h"

namespace vfsload {

class Metronome final : public CompletionTag {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Metronome(grpc::CompletionQueue& queue);
  ~Metronome();

  // Completes once, at `when` or soon after. While one is armed a further call
  // does nothing: the worker comes back at the first one, and arms again.
  void Arm(Time when);
  void OnCompletion(bool ok) override;

 private:
  enum class State { kIdle, kArmed, kRinging, kStopped };

  void Beat();

  grpc::CompletionQueue& queue_;
  grpc::Alarm alarm_;
  absl::Mutex mutex_;
  State state_ ABSL_GUARDED_BY(mutex_) = State::kIdle;
  Time when_ ABSL_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_METRONOME_H_
