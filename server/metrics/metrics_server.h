// MetricsServer: /metrics for Prometheus, over HTTP on a port of its own.
//
// Owned by the program; the sources outlive it.
#pragma once

#include <prometheus/exposer.h>

#include <expected>
#include <memory>
#include <string>

#include "server/base/listen_address.h"
#include "server/metrics/metrics_sources.h"

namespace vfsd::metrics {

class MetricsServer {
 public:
  // The error is a sentence for the command line.
  static std::expected<std::unique_ptr<MetricsServer>, std::string> Start(
      const ListenAddress& address, MetricsSources sources);
  ~MetricsServer();

  // Where it listens, with the real port.
  const std::string& address() const { return address_; }

 private:
  class Collector;
  MetricsServer() = default;

  std::string address_;
  std::string numeric_address_;  // the same without a name to look up
  std::shared_ptr<Collector> collector_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace vfsd::metrics
