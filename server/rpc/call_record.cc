#include "server/rpc/call_record.h"

#include <spdlog/spdlog.h>

namespace vfsd::rpc {

void SlowLog::Warn(const CallMethod& method, size_t operations,
                   std::chrono::nanoseconds took) {
  const Clock::time_point now = Clock::now();
  if (now - second_begin_ >= std::chrono::seconds(1)) {
    second_begin_ = now;
    warnings_ = 0;
  }
  if (warnings_ == kMaxWarningsPerSecond) {
    ++suppressed_;
    return;
  }
  ++warnings_;
  spdlog::warn(
      "slow: {}/{} operations={} milliseconds={:.3f} suppressed_before={}",
      method.service, method.name, operations,
      std::chrono::duration<double, std::milli>(took).count(), suppressed_);
  suppressed_ = 0;
}

}  // namespace vfsd::rpc
