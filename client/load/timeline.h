// A phase second by second, for charts: what happened in each, warm-up and end
// included. Plain values, made by the phase's coordinator.
#ifndef CLIENT_LOAD_TIMELINE_H_
#define CLIENT_LOAD_TIMELINE_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "client/load/run_status.h"

namespace vfsload {

struct TimelinePoint {
  // End of the interval, since the start of the phase.
  double seconds = 0;
  double interval_seconds = 0;
  Stage stage = Stage::kWarmup;
  uint64_t operations = 0;
  // Operations that answered with an errno; calls without an answer.
  uint64_t errors = 0;
  uint64_t failed = 0;
  uint64_t wrong = 0;
  uint64_t dropped = 0;
  std::chrono::nanoseconds service_p50{0};
  std::chrono::nanoseconds service_p99{0};
  // 0 in a closed loop.
  std::chrono::nanoseconds response_p50{0};
  std::chrono::nanoseconds response_p99{0};

  // `delta` is what happened in the interval.
  static TimelinePoint Of(const Totals& delta, Stage stage, double seconds,
                          double interval_seconds);
};

using Timeline = std::vector<TimelinePoint>;

}  // namespace vfsload

#endif  // CLIENT_LOAD_TIMELINE_H_
