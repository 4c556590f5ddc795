#include "server/base/call_statistics.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace vfsd {

CallStatistics::CallStatistics(std::vector<CallMethod> methods)
    : methods_(std::move(methods)),
      shards_(std::make_unique<Shard[]>(kCounterShards * methods_.size())) {}

void CallStatistics::CountHandled(size_t method, size_t code,
                                  uint64_t nanoseconds) {
  const size_t own = CounterShard();
  Shard& shard = ShardOf(own, method);
  const auto bucket =
      static_cast<size_t>(std::lower_bound(kBucketBounds.begin(),
                                           kBucketBounds.end(), nanoseconds) -
                          kBucketBounds.begin());
  AddToShard(own, shard.buckets[bucket], uint64_t{1});
  AddToShard(own, shard.sum_nanoseconds, nanoseconds);
  AddToShard(own, shard.handled[std::min(code, kCodeCount - 1)], uint64_t{1});
}

uint64_t CallStatistics::Totals::ended() const {
  return std::accumulate(handled.begin(), handled.end(), uint64_t{0});
}

CallStatistics::Totals CallStatistics::Read(size_t method) const {
  Totals totals;
  for (size_t i = 0; i < kCounterShards; ++i) {
    const Shard& shard = shards_[i * methods_.size() + method];
    const auto add = [](uint64_t& sum, const std::atomic<uint64_t>& counter) {
      sum += counter.load(std::memory_order_relaxed);
    };
    // Ends before beginnings: a call that ends meanwhile is not seen to end
    // without having begun.
    for (size_t code = 0; code < kCodeCount; ++code) {
      add(totals.handled[code], shard.handled[code]);
    }
    for (size_t bucket = 0; bucket < totals.buckets.size(); ++bucket) {
      add(totals.buckets[bucket], shard.buckets[bucket]);
    }
    add(totals.sum_nanoseconds, shard.sum_nanoseconds);
    add(totals.started, shard.started);
    add(totals.received, shard.received);
    add(totals.sent, shard.sent);
  }
  return totals;
}

uint64_t CallStatistics::in_flight() const {
  uint64_t sum = 0;
  for (size_t method = 0; method < methods_.size(); ++method)
    sum += Read(method).in_flight();
  return sum;
}

}  // namespace vfsd
