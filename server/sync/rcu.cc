#include "server/sync/rcu.h"

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/sharded_counter.h"
#include "server/sync/spin_lock.h"

#ifdef VFSD_TSAN
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace vfsd::sync {
namespace {

struct RetiredObject {
  void* object;
  void (*reclaim)(void*);
};

// Retired objects that share one grace period. liburcu hands its base back.
struct RetiredBatch : rcu_head {
  static constexpr size_t kCapacity = 128;
  size_t size = 0;
  std::array<RetiredObject, kCapacity> objects;
};

ShardedCounter& RetiredCount() {
  static ShardedCounter& count = *new ShardedCounter;
  return count;
}

// Objects retired by reclaims; and whether this thread is reclaiming.
std::atomic<uint64_t> retired_by_reclaims{0};
constinit thread_local bool reclaiming = false;

// All readers release it, all reclaims acquire it: for ThreadSanitizer only.
[[maybe_unused]] char tsan_grace_period;

void ReclaimBatch(rcu_head* head) {
  std::unique_ptr<RetiredBatch> batch(static_cast<RetiredBatch*>(head));
  // This is liburcu's thread, which is a reader.
  internal::rcu_registered = true;
#ifdef VFSD_TSAN
  __tsan_acquire(&tsan_grace_period);
  __tsan_acquire(batch.get());
#endif
  reclaiming = true;
  for (size_t i = 0; i < batch->size; ++i)
    batch->objects[i].reclaim(batch->objects[i].object);
  reclaiming = false;
  RetiredCount().Add(-static_cast<int64_t>(batch->size));
}

void Submit(RetiredBatch* batch) {
#ifdef VFSD_TSAN
  __tsan_release(batch);
#endif
  urcu_memb_call_rcu(batch, &ReclaimBatch);
}

// The batch that a thread is filling. Its owner adds to it, the flusher takes
// it away; under a lock, so that whoever flushes waits for an addition under
// way: what was retired before is then submitted, and a barrier waits for it.
class FillingBatch {
 public:
  void Add(RetiredObject object) {
    const SpinLockHolder lock(&lock_);
    RetiredBatch* batch = batch_.load(std::memory_order_relaxed);
    if (batch == nullptr) {
      batch = new RetiredBatch;
      batch_.store(batch, std::memory_order_relaxed);
    }
    batch->objects[batch->size++] = object;
    if (batch->size == RetiredBatch::kCapacity) SubmitLocked(batch);
  }

  // From any thread. True: there was something.
  bool Flush() {
    // acquire: who sees the place empty sees what was there submitted.
    if (batch_.load(std::memory_order_acquire) == nullptr) return false;
    const SpinLockHolder lock(&lock_);
    RetiredBatch* const batch = batch_.load(std::memory_order_relaxed);
    if (batch == nullptr) return false;
    SubmitLocked(batch);
    return true;
  }

 private:
  void SubmitLocked(RetiredBatch* batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock_) {
    Submit(batch);
    batch_.store(nullptr, std::memory_order_release);
  }

  SpinLock lock_;
  // Written under lock_.
  std::atomic<RetiredBatch*> batch_{nullptr};
};

// Every thread's filling batch, and the thread that submits what idle threads
// left in theirs. Lives for ever: threads may retire until the process ends.
class Flusher {
 public:
  static Flusher& Get() {
    static Flusher& flusher = *new Flusher;
    return flusher;
  }

  FillingBatch* Enlist() {
    absl::MutexLock lock(&mu_);
    batches_.push_back(std::make_unique<FillingBatch>());
    return batches_.back().get();
  }

  void Delist(FillingBatch* batch) {
    absl::MutexLock lock(&mu_);
    // Under the mutex: who flushes all finds the batch listed, or submitted.
    batch->Flush();
    std::erase_if(batches_,
                  [batch](const auto& other) { return other.get() == batch; });
  }

  bool FlushAll() {
    absl::MutexLock lock(&mu_);
    bool any = false;
    for (const auto& batch : batches_) any |= batch->Flush();
    return any;
  }

 private:
  // Bounds how long an idle thread's last retired objects stay, not a latency.
  static constexpr auto kFlushInterval = std::chrono::milliseconds(10);

  Flusher() {
    std::thread([this] {
      for (;;) {
        std::this_thread::sleep_for(kFlushInterval);
        FlushAll();
      }
    }).detach();
  }

  absl::Mutex mu_;
  std::vector<std::unique_ptr<FillingBatch>> batches_ ABSL_GUARDED_BY(mu_);
};

// A thread's part in RCU: registration for reading, and its filling batch.
class RcuThread {
 public:
  // liburcu's own reclaiming thread is registered by liburcu.
  RcuThread() : registered_here_(!internal::rcu_registered) {
    if (!registered_here_) return;
    urcu_memb_register_thread();
    internal::rcu_registered = true;
  }
  ~RcuThread() {
    if (filling_ != nullptr) Flusher::Get().Delist(filling_);
    if (!registered_here_) return;
    internal::rcu_registered = false;
    urcu_memb_unregister_thread();
  }
  RcuThread(const RcuThread&) = delete;
  RcuThread& operator=(const RcuThread&) = delete;
  FillingBatch& filling() {
    if (filling_ == nullptr) filling_ = Flusher::Get().Enlist();
    return *filling_;
  }

 private:
  const bool registered_here_;
  FillingBatch* filling_ = nullptr;
};

RcuThread& ThisRcuThread() {
  thread_local RcuThread thread;
  return thread;
}

}  // namespace

namespace internal {

constinit thread_local bool rcu_registered = false;

void RegisterRcuThread() { ThisRcuThread(); }

#ifdef VFSD_TSAN
void TsanReadUnlock() { __tsan_release(&tsan_grace_period); }
#endif

}  // namespace internal

bool InRcuReadSection() {
  return internal::rcu_registered && _urcu_memb_read_ongoing() != 0;
}

void RcuRetire(void* object, void (*reclaim)(void*)) {
  RetiredCount().Add(1);
  ThisRcuThread().filling().Add({object, reclaim});
  // After Add: who sees the count finds the object in its batch, or gone.
  if (reclaiming) retired_by_reclaims.fetch_add(1, std::memory_order_release);
}

void RcuSynchronize() {
  urcu_memb_synchronize_rcu();
#ifdef VFSD_TSAN
  __tsan_acquire(&tsan_grace_period);
#endif
}

void RcuBarrier() {
  // A reclaim may retire more (a directory its parent, a mount its file
  // system): until one round of reclaims retires nothing. Whether something is
  // left in a batch would not tell: the flusher may have taken it out.
  uint64_t before;
  do {
    before = retired_by_reclaims.load(std::memory_order_acquire);
    Flusher::Get().FlushAll();
    urcu_memb_barrier();
  } while (retired_by_reclaims.load(std::memory_order_acquire) != before);
}

size_t RcuRetiredObjects() {
  return static_cast<size_t>(std::max<int64_t>(RetiredCount().Sum(), 0));
}

}  // namespace vfsd::sync
