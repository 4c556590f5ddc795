// BlockPool: memory blocks of one size that threads use again without asking
// the general heap: for objects that are made and ended all the time (open
// files).
//
// Each thread keeps a short list of its own; lists that grow too long (on the
// thread that frees after grace periods) go to a depot, from which threads
// whose list is empty take whole ones. Under AddressSanitizer every block comes
// from the heap and goes back, so that late uses are found.
//
// Thread safety: all from any thread. Blocks are never handed to the operating
// system again, but for what the depot does not keep.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#if defined(__SANITIZE_ADDRESS__)
#define VFSD_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VFSD_ASAN 1
#endif
#endif

namespace vfsd::sync {

template <size_t block_bytes>
class BlockPool {
 public:
  static void* Allocate() {
#ifndef VFSD_ASAN
    List& list = Own().list;
    if (list.head == nullptr) list = Depot::Get().Take();
    if (list.head != nullptr) {
      Block* const block = list.head;
      list.head = block->next;
      --list.size;
      return block;
    }
#endif
    return ::operator new(block_bytes);
  }

  static void Free(void* memory) {
#ifdef VFSD_ASAN
    ::operator delete(memory);
#else
    List& list = Own().list;
    list.head = new (memory) Block{list.head};
    if (++list.size >= kListSize) Depot::Get().Put(std::exchange(list, {}));
#endif
  }

 private:
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

  static void Release(List list) {
    while (list.head != nullptr) {
      ::operator delete(std::exchange(list.head, list.head->next));
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
    void Put(List list) {
      {
        const absl::MutexLock lock(&mu_);
        if (lists_.size() < kDepotLists) {
          lists_.push_back(list);
          return;
        }
      }
      Release(list);
    }

   private:
    absl::Mutex mu_;
    std::vector<List> lists_ ABSL_GUARDED_BY(mu_);
  };

  struct ThreadList {
    List list;
    ~ThreadList() { Release(std::exchange(list, {})); }
  };
  static ThreadList& Own() {
    thread_local ThreadList own;
    return own;
  }
};

}  // namespace vfsd::sync
