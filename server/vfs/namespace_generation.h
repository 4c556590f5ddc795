// NamespaceGeneration: a number that stands as long as no directory is renamed,
// removed, mounted on or unmounted, nor changes who may search it, anywhere in
// the process. What a walk through directories found is true as long as the
// number is the same (prefix_cache.h). The kernel's rename_lock, used the other
// way round: to trust a whole path instead of to distrust it.
//
// A change takes two steps, since what is found while it is under way may be
// half of each: the number is unstable until the change has ended, and is
// another one from the moment in which it began.
//
// One for all Vfs of the process, so that a number is never good for an object
// whose memory another Vfs used before.
//
// Thread safety: all from any thread; nothing waits.
#pragma once

#include <atomic>
#include <cstdint>

namespace vfsd::vfs {

class NamespaceGeneration {
 public:
  // Of a moment without a change; 0 (no generation is) while there is one.
  // acquire: whoever has seen something of a change sees that it began.
  static uint64_t Stable() {
    const uint64_t value = shared_.value.load(std::memory_order_acquire);
    return (value & kActiveMask) == 0 ? value : 0;
  }

 private:
  friend class NamespaceChange;
  // How many changes are under way; above, how many there were.
  static constexpr uint64_t kActiveMask = 0xffff;
  static constexpr uint64_t kBegin = kActiveMask + 2;

  // A cache line of its own: every walk reads it, and few write it.
  struct alignas(64) Value {
    std::atomic<uint64_t> value;
  };
  inline static constinit Value shared_{kActiveMask + 1};
};

// A change, from before anything of it can be seen to when all of it can.
class [[nodiscard]] NamespaceChange {
 public:
  // `changes` false: it is none after all.
  explicit NamespaceChange(bool changes = true) : changes_(changes) {
    if (!changes_) return;
    NamespaceGeneration::shared_.value.fetch_add(NamespaceGeneration::kBegin,
                                                 std::memory_order_relaxed);
    // release: whoever sees what is written from here on sees the begin.
    std::atomic_thread_fence(std::memory_order_release);
  }
  ~NamespaceChange() {
    if (!changes_) return;
    // release: whoever sees the end sees the whole change.
    NamespaceGeneration::shared_.value.fetch_sub(1, std::memory_order_release);
  }
  NamespaceChange(const NamespaceChange&) = delete;
  NamespaceChange& operator=(const NamespaceChange&) = delete;

 private:
  const bool changes_;
};

}  // namespace vfsd::vfs
