#include "client/load/json_report.h"

#include "client/lib/errno_table.h"
#include "client/load/version.h"

namespace vfsload {
namespace {

using nlohmann::ordered_json;

double Microseconds(std::chrono::nanoseconds duration) {
  return static_cast<double>(duration.count()) / 1e3;
}

ordered_json ResultsJson(const Totals& totals) {
  ordered_json json = ordered_json::object();
  for (size_t i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (totals.Operations(operation) == 0) continue;
    ordered_json& row = json[std::string(OperationName(operation))];
    for (size_t result = 0; result < kResults; ++result) {
      const uint64_t count = totals.results[i][result];
      if (count == 0) continue;
      row[result == kResults - 1
              ? std::string("other")
              : vfsclient::ErrnoName(static_cast<int>(result))] = count;
    }
  }
  return json;
}

ordered_json FailuresJson(const Totals& totals) {
  ordered_json json = ordered_json::object();
  for (size_t code = 1; code < kCodes; ++code) {
    if (totals.failed[code] == 0) continue;
    json[vfsclient::StatusCodeName(static_cast<grpc::StatusCode>(code))] =
        totals.failed[code];
  }
  return json;
}

// Microseconds of CPU time an operation; null where it is not known.
ordered_json CpuJson(std::optional<double> seconds, uint64_t operations) {
  if (!seconds || operations == 0) return nullptr;
  return *seconds * 1e6 / static_cast<double>(operations);
}

ordered_json LatencyJson(const PhaseResult& result) {
  const LatencyHistogram latency = result.totals.Latency();
  return {{"of", result.options.batched() ? "message" : "call"},
          {"kind", "service"},
          {"count", latency.Count()},
          {"p50_us", Microseconds(latency.Quantile(0.5))},
          {"p90_us", Microseconds(latency.Quantile(0.9))},
          {"p99_us", Microseconds(latency.Quantile(0.99))},
          {"p999_us", Microseconds(latency.Quantile(0.999))},
          {"max_us", Microseconds(latency.Max())}};
}

ordered_json PhaseJson(const PhaseResult& result) {
  const uint64_t operations = result.totals.Operations();
  const double seconds = std::chrono::duration<double>(result.measured).count();
  const PhaseOptions& options = result.options;
  return {
      {"scenario", result.scenario},
      {"mode", options.batched() ? "batch" : "unary"},
      {"batch", options.batched() ? options.batch : 1},
      {"columns", options.batched() && options.columns},
      {"threads", options.threads},
      {"connections", options.connections},
      {"in_flight", options.in_flight},
      {"count", options.count ? ordered_json(*options.count) : nullptr},
      {"warmup_seconds", std::chrono::duration<double>(options.warmup).count()},
      {"seconds", seconds},
      {"operations", operations},
      {"operations_per_second",
       seconds > 0 ? static_cast<double>(operations) / seconds : 0.0},
      {"results", ResultsJson(result.totals)},
      {"failed_calls", FailuresJson(result.totals)},
      {"wrong", result.wrong},
      {"wrong_samples", result.complaints},
      {"failure", result.failure ? ordered_json(result.failure->Text())
                                 : ordered_json(nullptr)},
      {"latency", LatencyJson(result)},
      {"server_cpu_us_per_operation",
       CpuJson(result.server_cpu_seconds, operations)},
      {"client_cpu_us_per_operation",
       CpuJson(result.client_cpu_seconds, operations)},
  };
}

}  // namespace

ordered_json JsonReport(const RunHeader& header,
                        const std::vector<PhaseResult>& results) {
  ordered_json json = {{"schema", kJsonSchema},
                       {"version", kVersion},
                       {"revision", kRevision},
                       {"run_id", header.run_id},
                       {"started", header.started},
                       {"target", header.target},
                       {"loop", "closed"},
                       {"interrupted", header.interrupted},
                       {"exit_status", header.exit_status},
                       {"phases", ordered_json::array()}};
  for (const PhaseResult& result : results) {
    json["phases"].push_back(PhaseJson(result));
  }
  return json;
}

}  // namespace vfsload
