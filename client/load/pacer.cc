#include "client/load/pacer.h"

#include <algorithm>

namespace vfsload {

Pacer::Grant ClosedLoopPacer::Take(uint64_t units, uint64_t /*operations*/,
                                   Time now) {
  if (stop_.load(std::memory_order_relaxed)) return {0, true, now};
  if (!left_) return {units, false, now};
  const uint64_t taken = std::min(units, *left_);
  *left_ -= taken;
  return {taken, taken == 0, now};
}

Pacer::Grant OpenLoopPacer::Take(uint64_t units, uint64_t operations,
                                 Time now) {
  if (stop_.load(std::memory_order_relaxed)) {
    DropRest(operations, now);
    return {0, true, now};
  }
  while (true) {
    const Time intended = origin_ + plan_.Next();
    if (intended > now) return {};
    plan_.Advance(operations);
    recorder_.CountScheduled(operations);
    if (!max_late_ || now - intended <= *max_late_) {
      recorder_.RecordStart(now - intended, operations);
      return {units, false, intended};
    }
    recorder_.CountDropped(Drop::kLate, operations);
  }
}

void OpenLoopPacer::DropRest(uint64_t operations, Time now) {
  if (over_) return;
  over_ = true;
  while (origin_ + plan_.Next() <= now) {
    plan_.Advance(operations);
    recorder_.CountScheduled(operations);
    recorder_.CountDropped(Drop::kEnd, operations);
  }
}

}  // namespace vfsload
