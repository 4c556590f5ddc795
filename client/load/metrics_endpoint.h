// /metrics of the load generator.
//
// prometheus-cpp's own counters are a compare-and-swap loop and its histograms
// take a mutex, so the load counts in Recorders and this sums them when it is
// scraped. No label holds a path, handle or session; the run's id is a label of
// vfsload_run_info only. All series that a healthy run can have are there from
// the start, at 0.
#ifndef CLIENT_LOAD_METRICS_ENDPOINT_H_
#define CLIENT_LOAD_METRICS_ENDPOINT_H_

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <prometheus/metric_family.h>
#include <prometheus/metric_type.h>

#include <atomic>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "client/load/run_status.h"

namespace vfsload {

// Thread-safe; `status` must outlive it.
class LoadCollector : public prometheus::Collectable {
 public:
  explicit LoadCollector(const RunStatus& status) : status_(status) {}
  std::vector<prometheus::MetricFamily> Collect() const override;
  // Somebody has read the totals after the load's end.
  bool final_scraped() const { return final_scraped_.load(); }

 private:
  const RunStatus& status_;
  mutable std::atomic<bool> final_scraped_{false};
};

class MetricsEndpoint {
 public:
  // `address` is host:port; port 0 picks one. The error is for people.
  static std::expected<std::unique_ptr<MetricsEndpoint>, std::string> Start(
      const std::string& address, const RunStatus& status);

  // "127.0.0.1:9152", with the port that is in use.
  const std::string& address() const { return address_; }
  bool final_scraped() const { return collector_->final_scraped(); }

 private:
  MetricsEndpoint() = default;

  std::string address_;
  std::shared_ptr<LoadCollector> collector_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_METRICS_ENDPOINT_H_
