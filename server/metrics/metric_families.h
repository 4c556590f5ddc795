// Builders of prometheus-cpp's metric families from plain numbers.
//
// Counters and gauges of the library itself are compare-and-swap loops on
// doubles, and its histograms take a mutex for each observation; so nothing of
// it is on a hot path, and families are made anew for each scrape.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace vfsd::metrics {

using Labels = std::vector<prometheus::ClientMetric::Label>;

class Family {
 public:
  Family(std::string name, std::string help, prometheus::MetricType type);

  // A counter or a gauge.
  Family& Add(Labels labels, double value);
  // A histogram. bounds in nanoseconds; buckets: one a bound, and one for what
  // is longer, each by itself.
  Family& AddHistogram(Labels labels, std::span<const uint64_t> bounds,
                       std::span<const uint64_t> buckets,
                       uint64_t sum_nanoseconds);

  prometheus::MetricFamily Take() { return std::move(family_); }

 private:
  prometheus::MetricFamily family_;
};

Family Counter(std::string name, std::string help);
Family Gauge(std::string name, std::string help);
Family Histogram(std::string name, std::string help);

}  // namespace vfsd::metrics
