#include "client/load/metrics_endpoint.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <array>
#include <exception>
#include <utility>

#include "client/lib/errno_table.h"
#include "client/lib/error.h"
#include "client/load/process_stats.h"
#include "client/load/version.h"

namespace vfsload {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// gRFC A66's bounds without those above 10 s, with more between 10 and 100 us,
// where most answers are. The server uses the same.
constexpr auto kBounds = std::to_array<double>(
    {.00001, .00002, .00003, .00005, .00007, .0001, .0003, .0006, .0008, .001,
     .002,   .003,   .004,   .005,   .006,   .008,  .01,   .013,  .016,  .02,
     .025,   .03,    .04,    .05,    .065,   .08,   .1,    .13,   .16,   .2,
     .25,    .3,     .4,     .5,     .65,    .8,    1,     2,     5,     10});

constexpr std::string_view kService = "vfs.v1.VfsService";

class FamilyBuilder {
 public:
  FamilyBuilder(std::string name, std::string help, MetricType type) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }

  void Add(Labels labels, double value) {
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = value;
    metric.gauge.value = value;
    family_.metric.push_back(std::move(metric));
  }
  void AddHistogram(Labels labels, const LatencyHistogram& histogram,
                    uint64_t sum_ns) {
    ClientMetric metric;
    metric.label = std::move(labels);
    for (const double bound : kBounds) {
      metric.histogram.bucket.push_back(
          {histogram.CountAtMost(
               std::chrono::nanoseconds(static_cast<int64_t>(bound * 1e9))),
           bound});
    }
    metric.histogram.sample_count = histogram.Count();
    metric.histogram.sample_sum = static_cast<double>(sum_ns) / 1e9;
    family_.metric.push_back(std::move(metric));
  }
  MetricFamily Take() { return std::move(family_); }

 private:
  MetricFamily family_;
};

MetricFamily Single(std::string name, std::string help, MetricType type,
                    double value) {
  FamilyBuilder family(std::move(name), std::move(help), type);
  family.Add({}, value);
  return family.Take();
}

Labels MethodLabels(Method method) {
  return {{"grpc_type", method == kBatchMethod ? "bidi_stream" : "unary"},
          {"grpc_service", std::string(kService)},
          {"grpc_method", std::string(MethodName(method))}};
}

// "NotFound" for NOT_FOUND: the label grpc_code as other gRPC exporters have
// it.
std::string CodeLabel(size_t code) {
  const std::string name =
      vfsclient::StatusCodeName(static_cast<grpc::StatusCode>(code));
  if (name == "OK") return name;
  if (name == "CANCELLED") return "Canceled";
  std::string label;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
    } else {
      label += upper ? c : static_cast<char>(c - 'A' + 'a');
      upper = false;
    }
  }
  return label;
}

// Codes that a run may well meet; the others appear when they are met.
bool IsExpectedCode(size_t code) {
  return code == grpc::StatusCode::OK || code == grpc::StatusCode::UNAVAILABLE;
}

// Results that a scenario expects.
bool IsExpectedResult(Operation operation, size_t result) {
  if (result == 0) return true;
  return static_cast<int>(result) == vfsclient::kENOENT &&
         (operation == Operation::kOpen || operation == Operation::kStat ||
          operation == Operation::kAccess);
}

std::string ResultLabel(size_t result) {
  return result == kResults - 1
             ? "other"
             : vfsclient::ErrnoName(static_cast<int>(result));
}

void AddCalls(const Totals& totals, std::vector<MetricFamily>* families) {
  FamilyBuilder started("grpc_client_started_total",
                        "RPCs of the load that were started.",
                        MetricType::Counter);
  FamilyBuilder handled("grpc_client_handled_total",
                        "RPCs of the load that were completed, by code.",
                        MetricType::Counter);
  FamilyBuilder seconds("grpc_client_handling_seconds",
                        "Service time of unary RPCs of the load, from the "
                        "send to the reply.",
                        MetricType::Histogram);
  for (Method method = 0; method < kMethods; ++method) {
    started.Add(MethodLabels(method),
                static_cast<double>(totals.started[method]));
    for (size_t code = 0; code < kCodes; ++code) {
      const uint64_t count = totals.handled[method][code];
      if (count == 0 && !IsExpectedCode(code)) continue;
      Labels labels = MethodLabels(method);
      labels.push_back({"grpc_code", CodeLabel(code)});
      handled.Add(std::move(labels), static_cast<double>(count));
    }
    if (method != kBatchMethod) {
      seconds.AddHistogram(MethodLabels(method), totals.latency[method],
                           totals.latency_sum_ns[method]);
    }
  }
  families->push_back(started.Take());
  families->push_back(handled.Take());
  families->push_back(seconds.Take());

  FamilyBuilder response("vfsload_response_seconds",
                         "Response time in an open loop, from the intended "
                         "start to the reply; op batch is a message.",
                         MetricType::Histogram);
  for (Method method = 0; method < kMethods; ++method) {
    const std::string op(method == kBatchMethod
                             ? std::string_view("batch")
                             : OperationName(static_cast<Operation>(method)));
    response.AddHistogram({{"op", op}}, totals.response[method],
                          totals.response_sum_ns[method]);
  }
  families->push_back(response.Take());
  FamilyBuilder lag("vfsload_schedule_lag_seconds",
                    "How long after its time a unit or message of an open loop "
                    "was started.",
                    MetricType::Histogram);
  lag.AddHistogram({}, totals.lag, totals.lag_sum_ns);
  families->push_back(lag.Take());
  const auto counter = [&](const char* name, const char* help, uint64_t value) {
    families->push_back(
        Single(name, help, MetricType::Counter, static_cast<double>(value)));
  };
  counter("vfsload_scheduled_total",
          "Operations of an open loop whose time has come.", totals.scheduled);
  counter("vfsload_late_total",
          "Operations of an open loop that started over 1 ms after their time.",
          totals.late);
  FamilyBuilder dropped("vfsload_dropped_total",
                        "Operations of an open loop that were never sent: too "
                        "late, or at the end of the load.",
                        MetricType::Counter);
  dropped.Add(
      {{"reason", "late"}},
      static_cast<double>(totals.dropped[static_cast<size_t>(Drop::kLate)]));
  dropped.Add(
      {{"reason", "end"}},
      static_cast<double>(totals.dropped[static_cast<size_t>(Drop::kEnd)]));
  families->push_back(dropped.Take());

  FamilyBuilder sent("grpc_client_msg_sent_total", "Messages sent on streams.",
                     MetricType::Counter);
  sent.Add(MethodLabels(kBatchMethod),
           static_cast<double>(totals.messages_sent));
  families->push_back(sent.Take());
  FamilyBuilder received("grpc_client_msg_received_total",
                         "Messages received on streams.", MetricType::Counter);
  received.Add(MethodLabels(kBatchMethod),
               static_cast<double>(totals.messages_received));
  families->push_back(received.Take());
  FamilyBuilder batch("vfsload_batch_seconds",
                      "Service time of a batch message, from the send to the "
                      "reply.",
                      MetricType::Histogram);
  batch.AddHistogram({}, totals.latency[kBatchMethod],
                     totals.latency_sum_ns[kBatchMethod]);
  families->push_back(batch.Take());
}

void AddOperations(const Totals& totals, std::vector<MetricFamily>* families) {
  FamilyBuilder operations("vfsload_ops_total",
                           "Operations answered, unary or batched, by result.",
                           MetricType::Counter);
  for (size_t i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    for (size_t result = 0; result < kResults; ++result) {
      const uint64_t count = totals.results[i][result];
      if (count == 0 && !IsExpectedResult(operation, result)) continue;
      operations.Add({{"op", std::string(OperationName(operation))},
                      {"result", ResultLabel(result)}},
                     static_cast<double>(count));
    }
  }
  families->push_back(operations.Take());
  families->push_back(Single("vfsload_wrong_answers_total",
                             "Answers that differ from the expected ones.",
                             MetricType::Counter,
                             static_cast<double>(totals.wrong)));
}

void AddRun(const RunStatus& status, const Totals& totals,
            std::vector<MetricFamily>* families) {
  const RunStatus::Description description = status.description();
  families->push_back(
      Single("vfsload_inflight", "Calls and messages that have no answer yet.",
             MetricType::Gauge, static_cast<double>(totals.InFlight())));
  families->push_back(Single("vfsload_workers", "Threads that make the load.",
                             MetricType::Gauge,
                             static_cast<double>(status.workers())));
  families->push_back(Single("vfsload_channels", "Connections in use.",
                             MetricType::Gauge,
                             static_cast<double>(description.channels)));
  FamilyBuilder phase("vfsload_phase", "1 for what the run is doing now.",
                      MetricType::Gauge);
  for (size_t i = 0; i < kStages; ++i) {
    const auto stage = static_cast<Stage>(i);
    phase.Add({{"phase", std::string(StageName(stage))}},
              stage == description.stage ? 1 : 0);
  }
  families->push_back(phase.Take());
  FamilyBuilder run("vfsload_run_info", "What this run is.", MetricType::Gauge);
  run.Add({{"run_id", status.run_id()},
           {"scenario", description.scenario},
           {"mode", description.mode},
           {"version", std::string(kVersion)}},
          1);
  families->push_back(run.Take());
  FamilyBuilder build("vfsload_build_info", "How this program was built.",
                      MetricType::Gauge);
  build.Add({{"version", std::string(kVersion)},
             {"revision", std::string(kRevision)},
             {"compiler", __VERSION__},
             {"grpc_version", grpc::Version()}},
            1);
  families->push_back(build.Take());
}

void AddProcess(std::vector<MetricFamily>* families) {
  const ProcessStats stats = ProcessStats::Read();
  const auto add = [&](const char* name, const char* help, MetricType type,
                       double value) {
    families->push_back(Single(name, help, type, value));
  };
  add("process_cpu_seconds_total", "User and system CPU time.",
      MetricType::Counter, stats.cpu_seconds);
  add("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge,
      static_cast<double>(stats.resident_bytes));
  add("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge,
      static_cast<double>(stats.virtual_bytes));
  add("process_open_fds", "Open file descriptors.", MetricType::Gauge,
      static_cast<double>(stats.open_fds));
  add("process_max_fds", "Most file descriptors that may be open.",
      MetricType::Gauge, static_cast<double>(stats.max_fds));
  add("process_start_time_seconds", "When the process started, since 1970.",
      MetricType::Gauge, stats.start_time_seconds);
  add("process_threads", "Threads.", MetricType::Gauge,
      static_cast<double>(stats.threads));
}

}  // namespace

std::vector<MetricFamily> LoadCollector::Collect() const {
  const bool done = status_.description().stage == Stage::kDone;
  const Totals totals = status_.Read();
  std::vector<MetricFamily> families;
  AddCalls(totals, &families);
  AddOperations(totals, &families);
  AddRun(status_, totals, &families);
  AddProcess(&families);
  if (done) final_scraped_ = true;
  return families;
}

std::expected<std::unique_ptr<MetricsEndpoint>, std::string>
MetricsEndpoint::Start(const std::string& address, const RunStatus& status) {
  auto endpoint = std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint());
  endpoint->collector_ = std::make_shared<LoadCollector>(status);
  // The library reports errors by exceptions; they end here.
  try {
    endpoint->exposer_ = std::make_unique<prometheus::Exposer>(address, 1);
  } catch (const std::exception& error) {
    return std::unexpected(
        fmt::format("cannot serve metrics on {}: {} (is the port in use?)",
                    address, error.what()));
  }
  endpoint->exposer_->RegisterCollectable(endpoint->collector_);
  const auto ports = endpoint->exposer_->GetListeningPorts();
  endpoint->address_ =
      ports.empty()
          ? address
          : fmt::format("{}:{}", address.substr(0, address.rfind(':')),
                        ports.front());
  return endpoint;
}

}  // namespace vfsload
