// The process_* metrics that Prometheus's own client libraries give (Linux:
// /proc/self, getrlimit(2)).
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace vfsd::metrics {

std::vector<prometheus::MetricFamily> CollectProcessMetrics();

}  // namespace vfsd::metrics
