// A sequence lock of four bytes: a spin lock for writers whose value also tells
// readers whether what they read was whole. Even: nobody writes. Odd: somebody
// does. Every write section changes the value.
//
// The data it guards must be read and written as relaxed atomics (a reader may
// read while a writer writes; it then throws away what it read).
//
// Writers and ReadBeginEven spin (long waits give the processor away), so a
// write section must be short, and must wait for nobody that waits for it. It
// may allocate and take a lock that is held as briefly, as a rename does.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "server/sync/rcu.h"  // VFSD_TSAN

namespace vfsd::sync {

// Tells the processor that this is a spin loop.
inline void SpinPause() { __builtin_ia32_pause(); }

// A spin loop's wait: short ones spin, long ones (the holder lost its
// processor) give the processor away.
class SpinWait {
 public:
  void Once() {
    constexpr int kSpins = 256;
    if (++spins_ % kSpins != 0) {
      SpinPause();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  int spins_ = 0;
};

// Before a reader looks again at what tells whether what it read was whole: the
// reads before stay before. (ThreadSanitizer does not model fences; who relies
// on this one has something else in its builds.)
inline void ReadFence() { std::atomic_thread_fence(std::memory_order_acquire); }

class SeqLock {
 public:
  // Reader: the value to begin with, without waiting; odd while a writer is
  // active.
  uint32_t ReadBegin() const { return value_.load(std::memory_order_acquire); }

  // Reader: like ReadBegin, but waits for an active writer to finish.
  uint32_t ReadBeginEven() const {
    SpinWait wait;
    for (;;) {
      const uint32_t value = ReadBegin();
      if ((value & 1) == 0) return value;
      wait.Once();
    }
  }

  // Reader: true if no writer was active since ReadBegin returned `begin`: what
  // was read in between is whole. `begin` odd is never valid.
  bool ReadValid(uint32_t begin) const {
#ifdef VFSD_TSAN
    // ThreadSanitizer does not model fences. A read-modify-write that changes
    // nothing orders the reads before it, at the price of a shared write.
    const uint32_t now = const_cast<std::atomic<uint32_t>&>(value_).fetch_add(
        0, std::memory_order_acq_rel);
#else
    // acquire fence: the guarded reads stay before the load of the value.
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint32_t now = value_.load(std::memory_order_relaxed);
#endif
    return now == begin && (begin & 1) == 0;
  }

  // Writer.
  void WriteLock() {
    SpinWait wait;
    for (;;) {
      uint32_t value = value_.load(std::memory_order_relaxed);
      if ((value & 1) == 0 && value_.compare_exchange_weak(
                                  value, value + 1, std::memory_order_acquire,
                                  std::memory_order_relaxed)) {
        break;
      }
      wait.Once();
    }
    // release fence: the odd value is seen no later than any guarded write.
#ifndef VFSD_TSAN
    std::atomic_thread_fence(std::memory_order_release);
#endif
  }
  void WriteUnlock() {
    value_.store(value_.load(std::memory_order_relaxed) + 1,
                 std::memory_order_release);
  }

 private:
  std::atomic<uint32_t> value_{0};
};

// A write section, as long as the object lives.
class [[nodiscard]] SeqLockWriter {
 public:
  explicit SeqLockWriter(SeqLock& lock) : lock_(lock) { lock_.WriteLock(); }
  ~SeqLockWriter() { lock_.WriteUnlock(); }
  SeqLockWriter(const SeqLockWriter&) = delete;
  SeqLockWriter& operator=(const SeqLockWriter&) = delete;

 private:
  SeqLock& lock_;
};

}  // namespace vfsd::sync
