#include "tests/differential/clock_ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace vfsd::differential {

void ClockTicks::Next() {
  // The kernel may stamp with the fine clock, which is ahead of the coarse one:
  // a tick begins once the coarse clock has passed all that was stamped.
  timespec fine;
  clock_gettime(CLOCK_REALTIME, &fine);
  const Timestamp latest(fine.tv_sec, static_cast<uint32_t>(fine.tv_nsec));
  while (Timestamp::Now() <= latest) {
    const timespec nap{0, 200'000};
    nanosleep(&nap, nullptr);
  }
  Mark();
}

void ClockTicks::Mark() { begins_.push_back(Timestamp::Now()); }

std::string ClockTicks::StampOf(Timestamp time) const {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (time > Timestamp(now.tv_sec, static_cast<uint32_t>(now.tv_nsec)))
    return fmt::format("{}.{:09}", time.seconds(), time.nanoseconds());
  const auto after = std::upper_bound(begins_.begin(), begins_.end(), time);
  // Long before the program: a time that somebody set.
  constexpr int64_t kRecentSeconds = 3600;
  if (after == begins_.begin() &&
      (begins_.empty() ||
       time.seconds() < begins_.front().seconds() - kRecentSeconds)) {
    return fmt::format("{}.{:09}", time.seconds(), time.nanoseconds());
  }
  if (after == begins_.begin()) return "before";
  return fmt::format("step {}", after - begins_.begin() - 1);
}

}  // namespace vfsd::differential
