// The times of a unit under way, step by step: when a step was meant to start,
// when it was sent, when it was answered; and from them its service time (from
// the send) and, in an open loop, its response time (from the intended start).
//
// The first step's intended start is the unit's. A later step depends on the
// one before it, so it is meant to start when that one should have been
// answered: its own intended start and what such a step is expected to take
// (ExpectedDurations). A step that is sent before that counts from its send.
// Time comes in as an argument, so that a test can simulate it. One slot's, on
// its worker's thread.
#ifndef CLIENT_LOAD_UNIT_CLOCK_H_
#define CLIENT_LOAD_UNIT_CLOCK_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "client/load/operation.h"
#include "client/load/recorder.h"

namespace vfsload {

// What a call of each method is expected to take: the medians of the warm-up;
// 0 before they are known. Written by the coordinator, read by workers.
class ExpectedDurations {
 public:
  std::chrono::nanoseconds Of(Method method) const {
    return std::chrono::nanoseconds(
        nanoseconds_[method].load(std::memory_order_relaxed));
  }
  void Set(Method method, std::chrono::nanoseconds duration) {
    nanoseconds_[method].store(duration.count(), std::memory_order_relaxed);
  }

 private:
  std::array<std::atomic<int64_t>, kMethods> nanoseconds_{};
};

class UnitClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  UnitClock(Recorder& recorder, const ExpectedDurations& expected,
            bool open_loop)
      : recorder_(recorder), expected_(expected), open_loop_(open_loop) {}

  void Begin(Time intended) { intended_ = intended; }
  void Sent(Time now) { sent_ = now; }
  // The step is answered.
  void Done(Method method, Time now) {
    recorder_.RecordLatency(method, now - sent_);
    if (!open_loop_) return;
    recorder_.RecordResponse(method, now - std::min(intended_, sent_));
    intended_ += expected_.Of(method);
  }

 private:
  Recorder& recorder_;
  const ExpectedDurations& expected_;
  const bool open_loop_;
  Time intended_;
  Time sent_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_UNIT_CLOCK_H_
