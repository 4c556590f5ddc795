// A log-linear histogram of latencies.
//
// Nanoseconds from 0 to beyond 100 s. Below 64 ns every value has a bucket of
// its own; from there each power of two is cut into 64 equal buckets, so a
// bucket is at most 1/64 of its value wide and its middle is within 0.8 % of
// every value in it. Memory is constant (some 16 KB); longer values count in
// the last bucket.
//
// LatencyLayout maps values to buckets. LatencyHistogram is a plain value:
// merge it, subtract an earlier state of it. SharedLatencyHistogram is what one
// thread writes while others read: plain loads and stores, no lock, no atomic
// read-modify-write.
#ifndef CLIENT_LOAD_LATENCY_HISTOGRAM_H_
#define CLIENT_LOAD_LATENCY_HISTOGRAM_H_

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vfsload {

class LatencyLayout {
 public:
  static constexpr int kSubBits = 6;
  static constexpr uint64_t kSubBuckets = uint64_t{1} << kSubBits;
  // 2^37 ns = 137 s.
  static constexpr int kMaxBits = 37;
  static constexpr size_t kBuckets =
      static_cast<size_t>(kMaxBits - kSubBits + 1) * kSubBuckets;

  static constexpr size_t Index(uint64_t ns) {
    if (ns < kSubBuckets) return static_cast<size_t>(ns);
    const int shift = std::bit_width(ns) - 1 - kSubBits;
    const size_t index = (static_cast<size_t>(shift) << kSubBits) +
                         static_cast<size_t>(ns >> shift);
    return index < kBuckets ? index : kBuckets - 1;
  }
  // The least value that is in bucket `index`.
  static constexpr uint64_t Lower(size_t index) {
    if (index < 2 * kSubBuckets) return index;
    const size_t shift = (index >> kSubBits) - 1;
    return (kSubBuckets + (index & (kSubBuckets - 1))) << shift;
  }
  static constexpr uint64_t Middle(size_t index) {
    return Lower(index) + (Lower(index + 1) - Lower(index)) / 2;
  }
};

class LatencyHistogram {
 public:
  LatencyHistogram() : counts_(LatencyLayout::kBuckets) {}

  void Record(std::chrono::nanoseconds latency);
  void Add(size_t bucket, uint64_t count) { counts_[bucket] += count; }
  void Merge(const LatencyHistogram& other);
  // `earlier` must be an earlier state of this histogram.
  void Subtract(const LatencyHistogram& earlier);

  uint64_t Count() const;
  // The value that a `quantile` (0 to 1) of all values do not exceed; 0 when
  // there are none.
  std::chrono::nanoseconds Quantile(double quantile) const;
  std::chrono::nanoseconds Max() const { return Quantile(1); }
  // How many values are at most `bound`, to the resolution of a bucket.
  uint64_t CountAtMost(std::chrono::nanoseconds bound) const;

  friend bool operator==(const LatencyHistogram&,
                         const LatencyHistogram&) = default;

 private:
  std::vector<uint64_t> counts_;
};

class SharedLatencyHistogram {
 public:
  // The one writing thread only.
  void Record(std::chrono::nanoseconds latency) {
    const int64_t ns = latency.count();
    std::atomic<uint64_t>& count =
        counts_[LatencyLayout::Index(ns > 0 ? static_cast<uint64_t>(ns) : 0)];
    count.store(count.load(std::memory_order_relaxed) + 1,
                std::memory_order_relaxed);
  }
  // Any thread.
  void AddTo(LatencyHistogram* sum) const;

 private:
  std::array<std::atomic<uint64_t>, LatencyLayout::kBuckets> counts_{};
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_LATENCY_HISTOGRAM_H_
