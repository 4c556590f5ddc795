#include "server/base/sharded_counter.h"

#include <mutex>
#include <vector>

namespace vfsd {
namespace internal {

constinit thread_local size_t counter_shard = kNoShard;

}  // namespace internal

namespace {

// The shards that no thread has. Lives for ever: threads end late.
class FreeShards {
 public:
  static FreeShards& Get() {
    static FreeShards& shards = *new FreeShards;
    return shards;
  }

  size_t Take() {
    const std::lock_guard lock(mu_);
    if (free_.empty()) return internal::kSharedShard;
    const size_t shard = free_.back();
    free_.pop_back();
    return shard;
  }

  // The next owner sees this one's counts: the mutex orders them.
  void GiveBack(size_t shard) {
    if (shard == internal::kSharedShard) return;
    const std::lock_guard lock(mu_);
    free_.push_back(shard);
  }

 private:
  FreeShards() {
    for (size_t shard = internal::kSharedShard; shard-- > 0;)
      free_.push_back(shard);
  }

  std::mutex mu_;
  std::vector<size_t> free_;
};

// Gives the thread's shard back when the thread ends. What counts after that
// (in other thread-locals' destructors) does so in the shared one.
struct ShardOwner {
  const size_t shard = FreeShards::Get().Take();
  ~ShardOwner() {
    internal::counter_shard = internal::kSharedShard;
    FreeShards::Get().GiveBack(shard);
  }
};

}  // namespace

namespace internal {

size_t TakeCounterShard() {
  thread_local const ShardOwner owner;
  counter_shard = owner.shard;
  return owner.shard;
}

}  // namespace internal
}  // namespace vfsd
