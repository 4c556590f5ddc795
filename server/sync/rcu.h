// Read-copy-update: readers that never wait, and memory that is freed only when
// no reader can still see it. Grace periods and read sections are liburcu's
// (flavor "memb": a read section costs two plain stores where the kernel has
// membarrier(2)). This wrapper adds what the packaged library lacks:
//  - threads register themselves on their first read section;
//  - ThreadSanitizer is told the two orderings that RCU provides (a reader's
//    section happens before the reclaim of what it could see);
//  - retired objects are handed over in batches, so that retiring one costs a
//    few nanoseconds and needs no room in the object.
//
// Rules, for every caller:
//  - in a read section: no blocking lock, no sleep, no wait for another thread
//    (a spin lock may be taken: who holds one waits for nobody);
//  - read sections nest;
//  - an object is retired once, after it was made unreachable for new readers.
#pragma once

#include <urcu/urcu-memb.h>
// The small inline functions; its header allows them in any code.
#include <urcu/static/urcu-memb.h>

#include <cstddef>

#if defined(__SANITIZE_THREAD__)
#define VFSD_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define VFSD_TSAN 1
#endif
#endif

namespace vfsd::sync {

namespace internal {

// True once the calling thread is registered with liburcu.
extern constinit thread_local bool rcu_registered;
void RegisterRcuThread();

#ifdef VFSD_TSAN
void TsanReadUnlock();
#endif

}  // namespace internal

// A read section, as long as the object lives. Not to be moved to another
// thread.
class [[nodiscard]] RcuReadSection {
 public:
  RcuReadSection() {
    if (!internal::rcu_registered) [[unlikely]]
      internal::RegisterRcuThread();
    _urcu_memb_read_lock();
  }
  ~RcuReadSection() {
#ifdef VFSD_TSAN
    internal::TsanReadUnlock();
#endif
    _urcu_memb_read_unlock();
  }
  RcuReadSection(const RcuReadSection&) = delete;
  RcuReadSection& operator=(const RcuReadSection&) = delete;
};

// True in a read section of the calling thread; for assertions.
bool InRcuReadSection();

// Frees `object` with `reclaim` after a grace period, on liburcu's thread, of
// which there is one for all: a long reclaim keeps everybody's waiting. May be
// called in a read section, and with locks held: it does not wait. `reclaim`
// may enter read sections and retire more; it must not wait for a grace period
// or a barrier, and must not throw.
void RcuRetire(void* object, void (*reclaim)(void*));

// Deletes `object` after a grace period.
template <typename T>
void RcuDelete(T* object) {
  RcuRetire(object, [](void* retired) { delete static_cast<T*>(retired); });
}

// Waits until every read section that had begun before the call has ended.
// Must not be called in a read section.
void RcuSynchronize();

// Waits until everything that was retired before the call, by any thread, is
// freed, and what that retired in turn. Must not be called in a read section.
void RcuBarrier();

// Objects retired and not yet freed.
size_t RcuRetiredObjects();

}  // namespace vfsd::sync
