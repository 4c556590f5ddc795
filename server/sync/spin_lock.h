// A spin lock of one byte for critical sections of a few instructions: taking
// it is one read-modify-write, giving it back a plain store. Where a section
// may wait or allocate much, absl::Mutex.
#pragma once

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "server/sync/seqlock.h"

namespace vfsd::sync {

class ABSL_LOCKABLE SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    SpinWait wait;
    // acquire: what the last holder did is seen. The inner loop only reads, so
    // that waiters do not take the line from the holder.
    while (locked_.exchange(true, std::memory_order_acquire)) {
      while (locked_.load(std::memory_order_relaxed)) wait.Once();
    }
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    // release: pairs with Lock's acquire.
    locked_.store(false, std::memory_order_release);
  }

 private:
  std::atomic<bool> locked_{false};
};

// Holds a SpinLock as long as it lives.
class ABSL_SCOPED_LOCKABLE SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock* lock) ABSL_EXCLUSIVE_LOCK_FUNCTION(lock)
      : lock_(*lock) {
    lock_.Lock();
  }
  ~SpinLockHolder() ABSL_UNLOCK_FUNCTION() { lock_.Unlock(); }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace vfsd::sync
