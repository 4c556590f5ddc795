// The vfs_* metrics: operations, objects, sessions and fast paths of the core.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "server/metrics/metrics_sources.h"

namespace vfsd::metrics {

std::vector<prometheus::MetricFamily> CollectVfsMetrics(
    const MetricsSources& sources);

}  // namespace vfsd::metrics
