// How many operations of each kind ended with each result, and how long a
// sample of them took in the core. Counted per thread, summed when read.
//
// Thread safety: Count and Observe from any thread, Read from any thread; sums
// never fall.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/base/errno.h"
#include "server/base/sharded_counter.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

class OperationCounters {
 public:
  // Upper bounds of the duration buckets, in nanoseconds; one more bucket for
  // what is longer.
  static constexpr std::array<uint64_t, 14> kBucketBounds = {
      100,       200,        500,         1'000,        2'000,
      5'000,     10'000,     50'000,      100'000,      1'000'000,
      5'000'000, 10'000'000, 100'000'000, 1'000'000'000};
  // Every so many operations of a thread and kind one is timed.
  static constexpr uint32_t kSampleInterval = 128;

  struct Durations {
    std::array<uint64_t, kBucketBounds.size() + 1> buckets{};  // not cumulative
    uint64_t sum_nanoseconds = 0;
  };

  void Count(OperationKind kind, Errno result) {
    const size_t shard = CounterShard();
    AddToShard(
        shard,
        shards_[shard].results[static_cast<size_t>(kind)][ResultIndex(result)],
        uint64_t{1});
  }

  // True: the operation that begins now is one to time.
  bool Sample(OperationKind kind) {
    thread_local std::array<uint32_t, kOperationKindCount> until_sample{};
    uint32_t& left = until_sample[static_cast<size_t>(kind)];
    if (left == 0) {
      left = kSampleInterval - 1;
      return true;
    }
    --left;
    return false;
  }

  void Observe(OperationKind kind, uint64_t nanoseconds);

  uint64_t Ended(OperationKind kind, Errno result) const;
  Durations ReadDurations(OperationKind kind) const;

 private:
  static constexpr size_t ResultIndex(Errno result) {
    const auto value = static_cast<size_t>(result);
    return value < kErrnoLimit ? value : kErrnoLimit - 1;
  }

  struct alignas(64) Shard {
    std::array<std::array<std::atomic<uint64_t>, kErrnoLimit>,
               kOperationKindCount>
        results{};
    std::array<std::array<std::atomic<uint64_t>, kBucketBounds.size() + 1>,
               kOperationKindCount>
        buckets{};
    std::array<std::atomic<uint64_t>, kOperationKindCount> sums{};
  };
  std::array<Shard, kCounterShards> shards_;
};

}  // namespace vfsd::vfs
