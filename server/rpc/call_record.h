// CallRecord: counts one call, and times it from its beginning to its end.
//
// SlowLog: warns of work that took longer than a threshold, at most a few times
// a second, so that a slow server is not slowed further by saying so.
#pragma once

#include <chrono>
#include <cstdint>

#include "server/base/call_statistics.h"

namespace vfsd::rpc {

class SlowLog {
 public:
  using Clock = std::chrono::steady_clock;

  // threshold: zero: off.
  explicit SlowLog(std::chrono::nanoseconds threshold)
      : threshold_(threshold) {}

  // operations: how many the work was.
  void Note(const CallMethod& method, size_t operations,
            std::chrono::nanoseconds took) {
    if (threshold_.count() != 0 && took >= threshold_)
      Warn(method, operations, took);
  }

 private:
  static constexpr int kMaxWarningsPerSecond = 10;

  void Warn(const CallMethod& method, size_t operations,
            std::chrono::nanoseconds took);

  const std::chrono::nanoseconds threshold_;
  Clock::time_point second_begin_{};
  int warnings_ = 0;
  int suppressed_ = 0;
};

class CallRecord {
 public:
  CallRecord(CallStatistics& statistics, size_t method)
      : statistics_(&statistics), method_(method) {}

  void Start() {
    start_ = SlowLog::Clock::now();
    statistics_->CountStarted(method_);
  }
  // Returns how long the call took. Counted before its answer leaves, so that
  // whoever has the answer finds it counted.
  std::chrono::nanoseconds End(int code) {
    const std::chrono::nanoseconds took = SlowLog::Clock::now() - start_;
    statistics_->CountHandled(method_, static_cast<size_t>(code),
                              static_cast<uint64_t>(took.count()));
    return took;
  }
  void CountReceived() { statistics_->CountReceived(method_); }
  void CountSent() { statistics_->CountSent(method_); }
  const CallMethod& method() const { return statistics_->methods()[method_]; }

 private:
  CallStatistics* statistics_;
  size_t method_;
  SlowLog::Clock::time_point start_{};
};

}  // namespace vfsd::rpc
