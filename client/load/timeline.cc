#include "client/load/timeline.h"

namespace vfsload {

TimelinePoint TimelinePoint::Of(const Totals& delta, Stage stage,
                                double seconds, double interval_seconds) {
  TimelinePoint point;
  point.seconds = seconds;
  point.interval_seconds = interval_seconds;
  point.stage = stage;
  point.operations = delta.Operations();
  for (const auto& results : delta.results) {
    for (size_t i = 1; i < kResults; ++i) point.errors += results[i];
  }
  for (const uint64_t count : delta.failed) point.failed += count;
  point.wrong = delta.wrong;
  point.dropped = delta.Dropped();
  const LatencyHistogram service = delta.Latency();
  point.service_p50 = service.Quantile(0.5);
  point.service_p99 = service.Quantile(0.99);
  const LatencyHistogram response = delta.Response();
  point.response_p50 = response.Quantile(0.5);
  point.response_p99 = response.Quantile(0.99);
  return point;
}

}  // namespace vfsload
