#include "server/vfs/operation_counters.h"

#include <algorithm>

namespace vfsd::vfs {

void OperationCounters::Observe(OperationKind kind, uint64_t nanoseconds) {
  const size_t owner = CounterShard();
  Shard& shard = shards_[owner];
  const auto bucket =
      static_cast<size_t>(std::lower_bound(kBucketBounds.begin(),
                                           kBucketBounds.end(), nanoseconds) -
                          kBucketBounds.begin());
  const auto index = static_cast<size_t>(kind);
  AddToShard(owner, shard.buckets[index][bucket], uint64_t{1});
  AddToShard(owner, shard.sums[index], nanoseconds);
}

uint64_t OperationCounters::Ended(OperationKind kind, Errno result) const {
  uint64_t sum = 0;
  for (const Shard& shard : shards_) {
    sum += shard.results[static_cast<size_t>(kind)][ResultIndex(result)].load(
        std::memory_order_relaxed);
  }
  return sum;
}

OperationCounters::Durations OperationCounters::ReadDurations(
    OperationKind kind) const {
  Durations durations;
  const auto index = static_cast<size_t>(kind);
  for (const Shard& shard : shards_) {
    for (size_t i = 0; i < durations.buckets.size(); ++i) {
      durations.buckets[i] +=
          shard.buckets[index][i].load(std::memory_order_relaxed);
    }
    durations.sum_nanoseconds +=
        shard.sums[index].load(std::memory_order_relaxed);
  }
  return durations;
}

}  // namespace vfsd::vfs
