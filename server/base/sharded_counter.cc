#include "server/base/sharded_counter.h"

namespace vfsd {
namespace {

std::atomic<size_t> next_shard{0};

}  // namespace

size_t CounterShard() {
  // relaxed: only the spread over the shards matters.
  thread_local const size_t shard =
      next_shard.fetch_add(1, std::memory_order_relaxed) % kCounterShards;
  return shard;
}

}  // namespace vfsd
