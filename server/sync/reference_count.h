// A plain reference count that, once it has reached zero, stays there: what
// lock-free readers need to take a reference on something that may be dying
// (the kernel's lockref and file_ref, in 4 bytes).
#pragma once

#include <atomic>
#include <cassert>
#include <cstdint>

namespace vfsd::sync {

class ReferenceCount {
 public:
  explicit ReferenceCount(uint32_t initial) : count_(initial) {}

  // Needs a reference held by the caller, or a lock that keeps the object.
  void Get() {
    // relaxed: the caller's own reference keeps the object; nothing to order.
    [[maybe_unused]] const uint32_t before =
        count_.fetch_add(1, std::memory_order_relaxed);
    assert(before != 0);
  }

  // In an RCU read section: false once the object is dead.
  [[nodiscard]] bool GetUnlessZero() {
    uint32_t count = count_.load(std::memory_order_relaxed);
    while (count != 0) {
      // acquire: what the last holder did before is seen by the new one.
      if (count_.compare_exchange_weak(count, count + 1,
                                       std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  // True: that was the last one, and the caller now ends the object.
  [[nodiscard]] bool Put() {
    // acq_rel: all uses by all holders come before the end of the object.
    const uint32_t before = count_.fetch_sub(1, std::memory_order_acq_rel);
    assert(before != 0);
    return before == 1;
  }

  // For checks and tests; stale at once.
  uint32_t Read() const { return count_.load(std::memory_order_relaxed); }

  // True: the caller's reference is the only one. That lasts only if nobody
  // else can reach the object, and then the caller may end it without a Put.
  [[nodiscard]] bool IsOnly() const {
    // acquire: as Put, all uses by earlier holders come before.
    return count_.load(std::memory_order_acquire) == 1;
  }

 private:
  std::atomic<uint32_t> count_;
};

}  // namespace vfsd::sync
