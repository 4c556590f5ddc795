#include "server/metrics/metric_families.h"

#include <limits>

namespace vfsd::metrics {

Family::Family(std::string name, std::string help,
               prometheus::MetricType type) {
  family_.name = std::move(name);
  family_.help = std::move(help);
  family_.type = type;
}

Family& Family::Add(Labels labels, double value) {
  prometheus::ClientMetric& metric = family_.metric.emplace_back();
  metric.label = std::move(labels);
  if (family_.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return *this;
}

Family& Family::AddHistogram(Labels labels, std::span<const uint64_t> bounds,
                             std::span<const uint64_t> buckets,
                             uint64_t sum_nanoseconds) {
  prometheus::ClientMetric& metric = family_.metric.emplace_back();
  metric.label = std::move(labels);
  uint64_t count = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    count += buckets[i];
    metric.histogram.bucket.push_back(
        {.cumulative_count = count,
         .upper_bound = i < bounds.size()
                            ? static_cast<double>(bounds[i]) * 1e-9
                            : std::numeric_limits<double>::infinity()});
  }
  metric.histogram.sample_count = count;
  metric.histogram.sample_sum = static_cast<double>(sum_nanoseconds) * 1e-9;
  return *this;
}

Family Counter(std::string name, std::string help) {
  return Family(std::move(name), std::move(help),
                prometheus::MetricType::Counter);
}
Family Gauge(std::string name, std::string help) {
  return Family(std::move(name), std::move(help),
                prometheus::MetricType::Gauge);
}
Family Histogram(std::string name, std::string help) {
  return Family(std::move(name), std::move(help),
                prometheus::MetricType::Histogram);
}

}  // namespace vfsd::metrics
