// A counter that many threads add to without sharing a cache line: each thread
// adds to a shard of its own and a reader sums the shards. Used for everything
// that is counted on a hot path (open files, hits, live objects).
//
// Thread safety: all members may be called from any thread. Sum is exact once
// the adding threads are quiet; while they add it is a value that lies between
// the sums before and after the call, give or take what is in flight, so it can
// be off by a few (and a count of live objects can even show -1 for a moment).
// What the kernel's percpu_counter is to nr_files.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace vfsd {

// Threads take shards for themselves as long as there are free ones (a thread
// that ends gives its own back); the threads beyond share the last one.
inline constexpr size_t kCounterShards = 32;

namespace internal {

inline constexpr size_t kNoShard = kCounterShards;
inline constexpr size_t kSharedShard = kCounterShards - 1;
extern constinit thread_local size_t counter_shard;
size_t TakeCounterShard();

}  // namespace internal

// The calling thread's shard, 0 to kCounterShards - 1.
inline size_t CounterShard() {
  const size_t shard = internal::counter_shard;
  return shard != internal::kNoShard ? shard : internal::TakeCounterShard();
}

// Adds to a value in the calling thread's shard. A shard that one thread has
// for itself needs no read-modify-write, which would cost several times the
// rest.
template <typename Value>
inline void AddToShard(size_t shard, std::atomic<Value>& value, Value delta) {
  // relaxed: a count orders nothing.
  if (shard != internal::kSharedShard) [[likely]] {
    value.store(value.load(std::memory_order_relaxed) + delta,
                std::memory_order_relaxed);
  } else {
    value.fetch_add(delta, std::memory_order_relaxed);
  }
}

// Counters that operations add to together: a thread has all of them side by
// side, so that counting touches one cache line (of eight) and not one each.
// Index: an enumeration of 0 to kCount - 1.
template <typename Index, size_t kCount>
class ShardedCounters {
 public:
  ShardedCounters() = default;
  ShardedCounters(const ShardedCounters&) = delete;
  ShardedCounters& operator=(const ShardedCounters&) = delete;

  void Add(Index index, int64_t delta) {
    const size_t shard = CounterShard();
    AddToShard(shard, shards_[shard].values[static_cast<size_t>(index)], delta);
  }

  int64_t Sum(Index index) const {
    int64_t sum = 0;
    for (const Shard& shard : shards_) {
      sum += shard.values[static_cast<size_t>(index)].load(
          std::memory_order_relaxed);
    }
    return sum;
  }

 private:
  // Two cache lines: processors fetch them in pairs.
  struct alignas(128) Shard {
    std::array<std::atomic<int64_t>, kCount> values{};
  };
  std::array<Shard, kCounterShards> shards_;
};

// One that is counted for itself.
class ShardedCounter {
 public:
  void Add(int64_t delta) { counters_.Add(kOnly, delta); }
  int64_t Sum() const { return counters_.Sum(kOnly); }

 private:
  static constexpr size_t kOnly = 0;
  ShardedCounters<size_t, 1> counters_;
};

}  // namespace vfsd
