// The grpc_server_* metrics, named and labelled as go-grpc-middleware's.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "server/base/call_statistics.h"

namespace vfsd::metrics {

std::vector<prometheus::MetricFamily> CollectCallMetrics(
    const CallStatistics& calls);

}  // namespace vfsd::metrics
