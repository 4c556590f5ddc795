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

// Threads are spread over this many shards by the order in which they first
// count. Two threads of one shard are still correct, only slower.
inline constexpr size_t kCounterShards = 16;

// The calling thread's shard, 0 to kCounterShards - 1.
size_t CounterShard();

class ShardedCounter {
 public:
  ShardedCounter() = default;
  ShardedCounter(const ShardedCounter&) = delete;
  ShardedCounter& operator=(const ShardedCounter&) = delete;

  void Add(int64_t delta) {
    // relaxed: a count orders nothing.
    shards_[CounterShard()].value.fetch_add(delta, std::memory_order_relaxed);
  }

  int64_t Sum() const {
    int64_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.value.load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) Shard {
    std::atomic<int64_t> value{0};
  };
  std::array<Shard, kCounterShards> shards_;
};

}  // namespace vfsd
