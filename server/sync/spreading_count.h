// SpreadingCount: a reference count of four bytes that spreads over a counter a
// thread once threads contend for it, so that one hot object is as cheap for
// many processors as for one; cold objects stay small. (Between the kernel's
// lockref and its percpu_ref.)
//
// Modes:
//  - plain: a count that, once it has reached zero, stays there;
//  - spread: references are counted in shards of a block, without a
//    read-modify-write. A sum of shards that others change is no count, so
//    nobody can tell whether it is zero; therefore only an object that has its
//    base reference is spread (a file: while it has a name);
//  - exact: after the base reference went. Counting goes to one atomic, the
//    shards stand still after a grace period and are added to it, and whoever
//    then drops the last reference ends the object.
// An object stays spread until its base reference goes; blocks are limited, and
// when there is none left, counts stay plain.
//
// Thread safety: all members from any thread. An object that is counted must be
// freed only after a grace period.
#pragma once

#include <atomic>
#include <cstdint>

namespace vfsd::sync {

class SpreadingCount {
 public:
  explicit SpreadingCount(uint32_t initial) : word_(initial) {}
  ~SpreadingCount();
  SpreadingCount(const SpreadingCount&) = delete;
  SpreadingCount& operator=(const SpreadingCount&) = delete;

  // Needs a reference held by the caller, or a lock that keeps the object.
  void Get() { static_cast<void>(TryGet()); }

  // In an RCU read section: false once the object is dead.
  [[nodiscard]] bool GetUnlessZero() { return TryGet(); }

  // True: that was the last one, and the caller now ends the object.
  [[nodiscard]] bool Put() {
    uint32_t word = word_.load(std::memory_order_relaxed);
    while ((word & kSpread) == 0) {
      // acq_rel: all uses by all holders come before the end of the object.
      if (word_.compare_exchange_weak(word, word - 1, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) [[likely]] {
        return (word & kCountMask) == 1;
      }
      word = Contended(word);
    }
    return PutSpread();
  }

  // A reference that the caller holds becomes the base reference.
  void MakeBase() { word_.fetch_or(kBased, std::memory_order_relaxed); }
  // Drops it. True: that was the last one. Otherwise `end(object)` may be
  // called instead of some Put returning true, after a grace period, on the
  // reclaiming thread of rcu.h.
  [[nodiscard]] bool PutBase(void* object, void (*end)(void*));

  // For checks and tests; stale at once.
  uint32_t Read() const;
  bool spread() const {
    return (word_.load(std::memory_order_relaxed) & kSpread) != 0;
  }

  // Whether contended counts are spread from now on (default: yes), for
  // measurements of what the plain count costs. Those that are stay so.
  static void SetSpreading(bool enabled);

 private:
  struct Block;
  class Blocks;

  // Plain: kBased and the count. Spread and exact: kSpread, kBased or kExact,
  // and the block's number.
  static constexpr uint32_t kSpread = 1U << 31;
  static constexpr uint32_t kBased = 1U << 30;
  static constexpr uint32_t kExact = 1U << 29;
  static constexpr uint32_t kCountMask = kExact - 1;

  bool TryGet() {
    uint32_t word = word_.load(std::memory_order_relaxed);
    while ((word & kSpread) == 0) {
      if ((word & kCountMask) == 0) return false;
      // acquire: what the last holder did before is seen by the new one.
      if (word_.compare_exchange_weak(word, word + 1, std::memory_order_acquire,
                                      std::memory_order_relaxed)) [[likely]] {
        return true;
      }
      word = Contended(word);
    }
    return GetSpread();
  }

  // Another thread changed the count under us, to `word`: spreads it if that
  // happens often. Returns the word as it is now.
  uint32_t Contended(uint32_t word);
  bool GetSpread();
  bool PutSpread();

  std::atomic<uint32_t> word_;
};

}  // namespace vfsd::sync
