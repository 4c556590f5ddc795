// BlockPool: memory blocks of one size that threads use again without asking
// the general heap: for objects that are made and ended all the time (open
// files).
//
// Each thread keeps a short list of its own; lists that grow too long go to a
// depot, from which threads whose list is empty take whole ones. What the depot
// does not keep goes back to the heap after a grace period. So in an RCU read
// section a block stays a block of its pool, though perhaps another object's: a
// reader that finds out about that afterwards (by a sequence or a generation)
// needs no grace period between two uses (the kernel's SLAB_TYPESAFE_BY_RCU).
//
// Sanitizers shall find late uses: in their builds every block comes from the
// heap and goes back, and VFSD_BLOCKS_STAY_BLOCKS is not defined; who relies on
// it must wait for grace periods there.
//
// Blocks begin at a cache line, so that what threads have for themselves stays
// apart. Thread safety: all from any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/sync/rcu.h"

#if defined(__SANITIZE_ADDRESS__)
#define VFSD_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VFSD_ASAN 1
#endif
#endif

#if !defined(VFSD_ASAN) && !defined(VFSD_TSAN)
#define VFSD_BLOCKS_STAY_BLOCKS 1
#endif

namespace vfsd::sync {

template <size_t block_bytes>
class BlockPool {
 public:
  static void* Allocate() {
#ifdef VFSD_BLOCKS_STAY_BLOCKS
    List& list = Own().list;
    if (list.head == nullptr) [[unlikely]]
      list = Depot::Get().Take();
    if (list.head != nullptr) [[likely]] {
      Block* const block = list.head;
      list.head = block->next;
      --list.size;
      return block;
    }
#endif
    return ::operator new(block_bytes, kAlignment);
  }

  static void Free(void* memory) {
#ifdef VFSD_BLOCKS_STAY_BLOCKS
    List& list = Own().list;
    list.head = new (memory) Block{list.head};
    if (++list.size >= kListSize) [[unlikely]] {
      const List overflow = Depot::Get().Put(std::exchange(list, {}));
      if (overflow.head != nullptr) RcuRetire(overflow.head, &Release);
    }
#else
    ::operator delete(memory, kAlignment);
#endif
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  static constexpr size_t kListSize = 64;
  static constexpr size_t kDepotLists = 256;

  struct Block {
    Block* next;
  };
  static_assert(block_bytes >= sizeof(Block));

  struct List {
    Block* head = nullptr;
    size_t size = 0;
  };

  static void Release(void* head) {
    for (auto* block = static_cast<Block*>(head); block != nullptr;) {
      ::operator delete(std::exchange(block, block->next), kAlignment);
    }
  }

  // Lives for ever: threads end late.
  class Depot {
   public:
    static Depot& Get() {
      static Depot& depot = *new Depot;
      return depot;
    }
    List Take() {
      const absl::MutexLock lock(&mu_);
      if (lists_.empty()) return {};
      const List list = lists_.back();
      lists_.pop_back();
      return list;
    }
    // Returns what it does not keep.
    [[nodiscard]] List Put(List list) {
      const absl::MutexLock lock(&mu_);
      if (lists_.size() >= kDepotLists) return list;
      lists_.push_back(list);
      return {};
    }
    // A thread ends: what it had is kept in any case.
    void Inherit(List list) {
      const absl::MutexLock lock(&mu_);
      lists_.push_back(list);
    }

   private:
    absl::Mutex mu_;
    std::vector<List> lists_ ABSL_GUARDED_BY(mu_);
  };

  struct ThreadList {
    List list;
    ~ThreadList() {
      if (list.head != nullptr) Depot::Get().Inherit(std::exchange(list, {}));
    }
  };
  static ThreadList& Own() {
    thread_local ThreadList own;
    return own;
  }
};

}  // namespace vfsd::sync
