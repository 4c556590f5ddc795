// Loop: an operation repeated until it is told to stop, on one worker. It
// counts how often the answer was not the right one.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace corebench {

struct LoopCounts {
  uint64_t operations = 0;
  uint64_t wrong = 0;
};

// When a loop ends: told by another thread, or after so many operations.
struct LoopEnd {
  std::atomic<bool> stop{false};
  uint64_t operations = std::numeric_limits<uint64_t>::max();
};

using Loop = std::function<LoopCounts(const LoopEnd& end)>;

// operation: bool(), true if the answer was right. Keeps its own inputs, which
// were made before.
template <typename Operation>
Loop Repeat(Operation operation) {
  return [operation = std::move(operation)](const LoopEnd& end) mutable {
    // Looking at the flag must not cost anything beside the operations.
    constexpr uint64_t kBetweenLooks = 64;
    LoopCounts counts;
    while (!end.stop.load(std::memory_order_relaxed) &&
           counts.operations < end.operations) {
      for (uint64_t i = 0; i < kBetweenLooks; ++i) {
        if (!operation()) [[unlikely]]
          ++counts.wrong;
      }
      counts.operations += kBetweenLooks;
    }
    return counts;
  };
}

}  // namespace corebench
