#include "client/load/latency_histogram.h"

#include <cmath>
#include <numeric>

namespace vfsload {

void LatencyHistogram::Record(std::chrono::nanoseconds latency) {
  const int64_t ns = latency.count();
  ++counts_[LatencyLayout::Index(ns > 0 ? static_cast<uint64_t>(ns) : 0)];
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

void LatencyHistogram::Subtract(const LatencyHistogram& earlier) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] -= earlier.counts_[i];
}

uint64_t LatencyHistogram::Count() const {
  return std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
}

std::chrono::nanoseconds LatencyHistogram::Quantile(double quantile) const {
  const uint64_t count = Count();
  if (count == 0) return std::chrono::nanoseconds(0);
  const auto wanted =
      static_cast<uint64_t>(std::ceil(quantile * static_cast<double>(count)));
  const uint64_t rank = wanted == 0 ? 1 : wanted < count ? wanted : count;
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= rank) {
      return std::chrono::nanoseconds(
          static_cast<int64_t>(LatencyLayout::Middle(i)));
    }
  }
  return std::chrono::nanoseconds(0);
}

uint64_t LatencyHistogram::CountAtMost(std::chrono::nanoseconds bound) const {
  if (bound.count() < 0) return 0;
  const size_t last =
      LatencyLayout::Index(static_cast<uint64_t>(bound.count()));
  uint64_t seen = 0;
  for (size_t i = 0; i <= last; ++i) seen += counts_[i];
  return seen;
}

void SharedLatencyHistogram::AddTo(LatencyHistogram* sum) const {
  for (size_t i = 0; i < counts_.size(); ++i) {
    const uint64_t count = counts_[i].load(std::memory_order_relaxed);
    if (count != 0) sum->Add(i, count);
  }
}

}  // namespace vfsload
