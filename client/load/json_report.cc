#include "client/load/json_report.h"

#include "client/lib/errno_table.h"
#include "client/load/bottleneck.h"
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

ordered_json LatencyJson(const PhaseResult& result, std::string_view kind,
                         const LatencyHistogram& latency) {
  return {{"of", result.options.batched() ? "message" : "call"},
          {"kind", kind},
          {"count", latency.Count()},
          {"p50_us", Microseconds(latency.Quantile(0.5))},
          {"p90_us", Microseconds(latency.Quantile(0.9))},
          {"p99_us", Microseconds(latency.Quantile(0.99))},
          {"p999_us", Microseconds(latency.Quantile(0.999))},
          {"max_us", Microseconds(latency.Max())}};
}

// How an open loop kept its plan; null for a closed one.
ordered_json OpenLoopJson(const PhaseResult& result) {
  if (!result.options.open_loop) return nullptr;
  const OpenLoop& loop = *result.options.open_loop;
  const Totals& totals = result.totals;
  return {
      {"rate", loop.profile.text()},
      {"arrivals",
       loop.arrivals == Arrivals::kConstant ? "constant" : "poisson"},
      {"max_late_us", loop.max_late ? ordered_json(Microseconds(*loop.max_late))
                                    : ordered_json(nullptr)},
      {"planned_operations", result.planned_operations},
      {"late", totals.late},
      {"dropped",
       {{"late", totals.dropped[static_cast<size_t>(Drop::kLate)]},
        {"end", totals.dropped[static_cast<size_t>(Drop::kEnd)]}}},
      {"schedule_lag_p50_us", Microseconds(totals.lag.Quantile(0.5))},
      {"schedule_lag_p99_us", Microseconds(totals.lag.Quantile(0.99))},
  };
}

ordered_json SloJson(const PhaseResult& result, const Slo& slo) {
  ordered_json json = ordered_json::array();
  for (const SloVerdict& verdict : slo.Judge(result)) {
    json.push_back({{"condition", verdict.condition},
                    {"measured", verdict.measured},
                    {"met", verdict.met}});
  }
  return json;
}

// Second by second.
ordered_json TimelineJson(const Timeline& timeline) {
  ordered_json json = ordered_json::array();
  for (const TimelinePoint& point : timeline) {
    json.push_back({{"seconds", point.seconds},
                    {"interval_seconds", point.interval_seconds},
                    {"phase", StageName(point.stage)},
                    {"operations", point.operations},
                    {"errors", point.errors},
                    {"failed", point.failed},
                    {"wrong", point.wrong},
                    {"dropped", point.dropped},
                    {"service_p50_us", Microseconds(point.service_p50)},
                    {"service_p99_us", Microseconds(point.service_p99)},
                    {"response_p50_us", Microseconds(point.response_p50)},
                    {"response_p99_us", Microseconds(point.response_p99)}});
  }
  return json;
}

ordered_json PhaseJson(const PhaseResult& result, const Slo& slo) {
  const uint64_t operations = result.totals.Operations();
  const double seconds = std::chrono::duration<double>(result.measured).count();
  const PhaseOptions& options = result.options;
  const Bottleneck bottleneck = FindBottleneck(result);
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
      {"leaked_handles", result.leaked_handles},
      {"wrong_samples", result.complaints},
      {"failure", result.failure ? ordered_json(result.failure->Text())
                                 : ordered_json(nullptr)},
      {"loop", options.open_loop ? "open" : "closed"},
      {"latency", LatencyJson(result, "service", result.totals.Latency())},
      {"response", options.open_loop ? LatencyJson(result, "response",
                                                   result.totals.Response())
                                     : ordered_json(nullptr)},
      {"open_loop", OpenLoopJson(result)},
      {"server_cpu_us_per_operation",
       CpuJson(result.server_cpu_seconds, operations)},
      {"client_cpu_us_per_operation",
       CpuJson(result.client_cpu_seconds, operations)},
      {"slo", SloJson(result, slo)},
      {"timeline", TimelineJson(result.timeline)},
      {"bottleneck",
       {{"limit", LimitName(bottleneck.limit)}, {"text", bottleneck.text}}},
  };
}

}  // namespace

ordered_json JsonReport(const RunHeader& header,
                        const std::vector<PhaseResult>& results) {
  ordered_json json = {
      {"schema", kJsonSchema},
      {"version", kVersion},
      {"revision", kRevision},
      {"run_id", header.run_id},
      {"started", header.started},
      {"target", header.target},
      // Of the whole run: every phase has the same.
      {"loop", !results.empty() && results.front().options.open_loop
                   ? "open"
                   : "closed"},
      {"interrupted", header.interrupted},
      {"exit_status", header.exit_status},
      {"phases", ordered_json::array()}};
  for (const PhaseResult& result : results) {
    json["phases"].push_back(PhaseJson(result, header.slo));
  }
  return json;
}

}  // namespace vfsload
