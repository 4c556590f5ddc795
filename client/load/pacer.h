// When a slot may start its next unit.
//
// A pacer belongs to one worker and is asked before every unit. The closed loop
// lets a slot start as soon as its previous unit is done; an open loop would
// say "not before this moment" and keep the intended time. Asked from the
// worker's thread only; the stop flag may be set from any.
#ifndef CLIENT_LOAD_PACER_H_
#define CLIENT_LOAD_PACER_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>

namespace vfsload {

class Pacer {
 public:
  virtual ~Pacer() = default;
  // How many of `wanted` units may start now; 0: none any more.
  virtual uint64_t Take(uint64_t wanted) = 0;
};

class ClosedLoopPacer : public Pacer {
 public:
  // Until `stop`, or until `count` units have started.
  ClosedLoopPacer(const std::atomic<bool>& stop, std::optional<uint64_t> count)
      : stop_(stop), left_(count) {}

  uint64_t Take(uint64_t wanted) override {
    if (stop_.load(std::memory_order_relaxed)) return 0;
    if (!left_) return wanted;
    const uint64_t taken = std::min(wanted, *left_);
    *left_ -= taken;
    return taken;
  }
  // A counted load has started its last unit.
  bool Exhausted() const { return left_ && *left_ == 0; }

 private:
  const std::atomic<bool>& stop_;
  std::optional<uint64_t> left_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_PACER_H_
