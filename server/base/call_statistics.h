// CallStatistics: what the service counts about its calls, by method: begun,
// ended by status code, how long they took, and the messages of streams. It
// lies on the lowest floor because the service writes it and the metrics read
// it, and those two know nothing of each other.
//
// Thread safety: all members from any thread. Counted per thread, summed when
// read; sums never fall.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/base/sharded_counter.h"

namespace vfsd {

// A method of the service, named as on the wire.
struct CallMethod {
  std::string service;  // "vfs.v1.VfsService"
  std::string name;     // "Stat"
  bool streaming = false;
};

class CallStatistics {
 public:
  // gRPC's status codes, 0 (OK) to 16 (UNAUTHENTICATED).
  static constexpr size_t kCodeCount = 17;
  // Upper bounds of the duration buckets in nanoseconds: those of gRFC A66, and
  // finer where a call on one machine ends; one more bucket for what is longer.
  static constexpr std::array<uint64_t, 40> kBucketBounds = {
      10'000,      20'000,        30'000,        50'000,        70'000,
      100'000,     300'000,       600'000,       800'000,       1'000'000,
      2'000'000,   3'000'000,     4'000'000,     5'000'000,     6'000'000,
      8'000'000,   10'000'000,    13'000'000,    16'000'000,    20'000'000,
      25'000'000,  30'000'000,    40'000'000,    50'000'000,    65'000'000,
      80'000'000,  100'000'000,   130'000'000,   160'000'000,   200'000'000,
      250'000'000, 300'000'000,   400'000'000,   500'000'000,   650'000'000,
      800'000'000, 1'000'000'000, 2'000'000'000, 5'000'000'000, 10'000'000'000};

  explicit CallStatistics(std::vector<CallMethod> methods);

  // Methods are named by their index here.
  const std::vector<CallMethod>& methods() const { return methods_; }

  void CountStarted(size_t method) { Add(ShardOf(method).started, 1); }
  // code: 0 to 16.
  void CountHandled(size_t method, size_t code, uint64_t nanoseconds);
  void CountReceived(size_t method) { Add(ShardOf(method).received, 1); }
  void CountSent(size_t method) { Add(ShardOf(method).sent, 1); }

  struct Totals {
    uint64_t started = 0;
    std::array<uint64_t, kCodeCount> handled{};
    std::array<uint64_t, kBucketBounds.size() + 1> buckets{};  // not cumulative
    uint64_t sum_nanoseconds = 0;
    uint64_t received = 0;
    uint64_t sent = 0;

    uint64_t ended() const;
    uint64_t in_flight() const {
      return started > ended() ? started - ended() : 0;
    }
  };
  Totals Read(size_t method) const;
  // Calls of all methods that have begun and not ended.
  uint64_t in_flight() const;

 private:
  struct alignas(64) Shard {
    std::atomic<uint64_t> started{0};
    std::array<std::atomic<uint64_t>, kCodeCount> handled{};
    std::array<std::atomic<uint64_t>, kBucketBounds.size() + 1> buckets{};
    std::atomic<uint64_t> sum_nanoseconds{0};
    std::atomic<uint64_t> received{0};
    std::atomic<uint64_t> sent{0};
  };

  static void Add(std::atomic<uint64_t>& counter, uint64_t delta) {
    AddToShard(CounterShard(), counter, delta);
  }
  Shard& ShardOf(size_t method) const {
    return shards_[CounterShard() * methods_.size() + method];
  }

  const std::vector<CallMethod> methods_;
  // kCounterShards rows of one Shard a method.
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace vfsd
