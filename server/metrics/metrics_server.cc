#include "server/metrics/metrics_server.h"

#include <netdb.h>
#include <prometheus/collectable.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <exception>
#include <iterator>
#include <stop_token>
#include <string>
#include <thread>
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

// Connects to host:port, where something listens on this machine, and hangs up.
void TouchListener(const std::string& address) {
  const std::expected<ListenAddress, std::string> parsed =
      ListenAddress::Parse(address);
  if (!parsed.has_value()) return;
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(parsed->host().c_str(),
                  std::to_string(parsed->port()).c_str(), &hints,
                  &found) != 0) {
    return;
  }
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (fd >= 0) {
    // Whether it succeeds does not matter: an attempt wakes the listener.
    static_cast<void>(connect(fd, found->ai_addr, found->ai_addrlen));
    close(fd);
  }
  freeaddrinfo(found);
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
  const uint16_t port =
      ports.empty() ? address.port() : static_cast<uint16_t>(ports.front());
  server->address_ = address.TextWithPort(port);
  server->numeric_address_ =
      ListenAddress::Parse(*numeric).value_or(address).TextWithPort(port);
  server->exposer_->RegisterCollectable(server->collector_);
  return server;
}

MetricsServer::~MetricsServer() {
  if (exposer_ == nullptr) return;
  // civetweb looks whether it shall stop after each connection, and otherwise
  // every two seconds: connections until it has stopped spare that wait.
  std::jthread waker([this](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      TouchListener(numeric_address_);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  exposer_.reset();
}

}  // namespace vfsd::metrics
