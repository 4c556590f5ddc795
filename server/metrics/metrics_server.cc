#include "server/metrics/metrics_server.h"

#include <prometheus/collectable.h>

#include <exception>
#include <iterator>
#include <utility>
#include <vector>

#include "server/metrics/call_metrics.h"
#include "server/metrics/metric_families.h"
#include "server/metrics/process_metrics.h"
#include "server/metrics/vfs_metrics.h"

namespace vfsd::metrics {
namespace {

// A scrape takes milliseconds; two at a time are plenty.
constexpr size_t kThreads = 2;

Labels LabelsOf(const std::map<std::string, std::string>& values) {
  Labels labels;
  for (const auto& [name, value] : values) labels.push_back({name, value});
  return labels;
}

}  // namespace

class MetricsServer::Collector final : public prometheus::Collectable {
 public:
  explicit Collector(MetricsSources sources) : sources_(std::move(sources)) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    std::vector<prometheus::MetricFamily> families =
        CollectVfsMetrics(sources_);
    const auto append = [&](std::vector<prometheus::MetricFamily> more) {
      std::move(more.begin(), more.end(), std::back_inserter(families));
    };
    append(CollectCallMetrics(sources_.calls));
    append(CollectProcessMetrics());
    families.push_back(
        Gauge("vfsd_build_info", "1; the labels say what was built, from what.")
            .Add(LabelsOf(sources_.build), 1)
            .Take());
    families.push_back(Gauge("vfsd_config_info",
                             "1; the labels say how the server was started.")
                           .Add(LabelsOf(sources_.config), 1)
                           .Take());
    return families;
  }

 private:
  const MetricsSources sources_;
};

std::expected<std::unique_ptr<MetricsServer>, std::string> MetricsServer::Start(
    const ListenAddress& address, MetricsSources sources) {
  const auto fail = [&](const std::string& why) {
    return std::unexpected("cannot serve metrics on " + address.text() + ": " +
                           why);
  };
  if (address.is_unix()) return fail("Prometheus cannot scrape a unix socket");
  if (const std::string why = address.WhyUnusable(); !why.empty())
    return fail(why);
  const std::expected<std::string, std::string> numeric = address.NumericText();
  if (!numeric.has_value()) return fail(numeric.error());

  std::unique_ptr<MetricsServer> server(new MetricsServer());
  server->collector_ = std::make_shared<Collector>(std::move(sources));
  // The library throws what civetweb cannot do.
  try {
    server->exposer_ =
        std::make_unique<prometheus::Exposer>(*numeric, kThreads);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  const std::vector<int> ports = server->exposer_->GetListeningPorts();
  server->address_ = address.TextWithPort(
      ports.empty() ? address.port() : static_cast<uint16_t>(ports.front()));
  server->exposer_->RegisterCollectable(server->collector_);
  return server;
}

MetricsServer::~MetricsServer() = default;

}  // namespace vfsd::metrics
