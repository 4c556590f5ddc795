#include "client/load/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "client/lib/errno_table.h"
#include "client/load/bottleneck.h"
#include "client/load/duration.h"

namespace vfsload {
namespace {

using Row = std::vector<std::string>;

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string Rate(uint64_t count, double seconds) {
  if (seconds <= 0) return "-";
  return Grouped(static_cast<uint64_t>(static_cast<double>(count) / seconds));
}

// CPU seconds over operations, as time an operation.
std::string CpuText(std::optional<double> seconds, uint64_t operations) {
  if (!seconds || operations == 0) return "-";
  const double us = *seconds * 1e6 / static_cast<double>(operations);
  return fmt::format("{:.{}f} us", us, us < 1 ? 3 : us < 10 ? 2 : 1);
}

void AddErrors(const std::array<uint64_t, kResults>& results,
               std::string* text) {
  for (size_t i = 1; i < kResults; ++i) {
    if (results[i] == 0) continue;
    if (!text->empty()) *text += ", ";
    *text += fmt::format(
        "{} {}",
        i == kResults - 1 ? "other" : vfsclient::ErrnoName(static_cast<int>(i)),
        Grouped(results[i]));
  }
}

// A mix has a row for each of its operations too.
bool HasOperationRows(const PhaseResult& result) {
  return result.options.mix->parts().size() > 1 ||
         result.options.mix->parts().front().scenario->name == "build";
}

void AddQuantiles(const LatencyHistogram& latency, std::string_view none,
                  Row* row) {
  for (const double quantile : {0.5, 0.9, 0.99, 0.999, 1.0}) {
    row->push_back(latency.Count() == 0
                       ? std::string(none)
                       : DurationText(latency.Quantile(quantile)));
  }
}

// What an open loop's row shows are response times; the service times stand
// below, on a row of their own, so that the two are never taken for each other.
Row ServiceRow(const PhaseResult& result) {
  Row row = {"  service time", "", "", "", "", ""};
  AddQuantiles(result.totals.Latency(), "-", &row);
  row.push_back(result.options.batched() ? "message, from send"
                                         : "call, from send");
  return row;
}

// How an open loop kept its plan.
std::string PlanText(const PhaseResult& result) {
  const Totals& totals = result.totals;
  const auto operations = static_cast<double>(totals.Operations());
  const double seconds = Seconds(result.measured);
  const double planned = result.planned_operations;
  return fmt::format(
      "{}, {} ({}): target {} ops/s, achieved {} ({:.2f} %); late (over {}) "
      "{}; dropped {} (too late {}, at the end {}); schedule lag p50 {}, p99 "
      "{}\n",
      result.scenario, result.options.Mode(), result.options.Loop(),
      Rate(static_cast<uint64_t>(planned), seconds),
      Rate(totals.Operations(), seconds),
      planned > 0 ? 100 * operations / planned : 0, DurationText(kLateFrom),
      Grouped(totals.late), Grouped(totals.Dropped()),
      Grouped(totals.dropped[static_cast<size_t>(Drop::kLate)]),
      Grouped(totals.dropped[static_cast<size_t>(Drop::kEnd)]),
      DurationText(totals.lag.Quantile(0.5)),
      DurationText(totals.lag.Quantile(0.99)));
}

Row PhaseRow(const PhaseResult& result) {
  const double seconds = Seconds(result.measured);
  const uint64_t operations = result.totals.Operations();
  const bool open = result.options.open_loop.has_value();
  Row row = {result.scenario,           result.options.Mode(),
             Grouped(operations),       Rate(operations, seconds),
             ErrorsText(result.totals), Grouped(result.wrong)};
  AddQuantiles(open ? result.totals.Response() : result.totals.Latency(), "-",
               &row);
  row.push_back(fmt::format("{}{}",
                            result.options.batched() ? "message" : "call",
                            open ? ", from plan" : ""));
  row.push_back(CpuText(result.server_cpu_seconds, operations));
  row.push_back(CpuText(result.client_cpu_seconds, operations));
  return row;
}

Row OperationRow(const PhaseResult& result, Operation operation) {
  const Totals& totals = result.totals;
  const uint64_t operations = totals.Operations(operation);
  std::string errors;
  AddErrors(totals.results[Index(operation)], &errors);
  Row row = {fmt::format("  {}", OperationName(operation)),
             "",
             Grouped(operations),
             Rate(operations, Seconds(result.measured)),
             errors.empty() ? "-" : errors,
             ""};
  const auto& latencies =
      result.options.open_loop ? totals.response : totals.latency;
  AddQuantiles(latencies[UnaryMethod(operation)], "", &row);
  return row;
}

// Columns as wide as their widest cell; `left` tells which are text.
std::string Align(const std::vector<Row>& rows, std::span<const size_t> left) {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += std::ranges::find(left, i) != left.end()
                  ? fmt::format("{:<{}}", row[i], widths[i])
                  : fmt::format("{:>{}}", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace

std::string Grouped(uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (size_t i = digits.size(); i > 3;) {
    i -= 3;
    digits.insert(i, 1, ',');
  }
  return digits;
}

std::string ErrorsText(const Totals& totals) {
  std::array<uint64_t, kResults> sums{};
  for (const auto& results : totals.results) {
    for (size_t i = 0; i < kResults; ++i) sums[i] += results[i];
  }
  std::string text;
  AddErrors(sums, &text);
  for (size_t code = 1; code < kCodes; ++code) {
    const uint64_t count = totals.failed[code];
    if (count == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format(
        "{} {}", vfsclient::StatusCodeName(static_cast<grpc::StatusCode>(code)),
        Grouped(count));
  }
  return text.empty() ? "-" : text;
}

std::string LiveLine(const RunStatus::Description& description, double seconds,
                     const Totals& delta) {
  const LatencyHistogram latency = delta.Latency();
  return fmt::format(
      "{:5.0f} s  {:<8}  {}, {}  {} ops/s  p50 {}  p99 {}{}", seconds,
      StageName(description.stage), description.scenario, description.mode,
      Grouped(delta.Operations()), DurationText(latency.Quantile(0.5)),
      DurationText(latency.Quantile(0.99)),
      delta.wrong == 0 ? "" : fmt::format("  WRONG {}", Grouped(delta.wrong)));
}

std::string Table(const std::vector<PhaseResult>& results) {
  std::vector<Row> rows = {{"scenario", "mode", "operations", "ops/s", "errors",
                            "wrong", "p50", "p90", "p99", "p99.9", "max",
                            "latency of", "server CPU/op", "client CPU/op"}};
  for (const PhaseResult& result : results) {
    rows.push_back(PhaseRow(result));
    if (result.options.open_loop) rows.push_back(ServiceRow(result));
    if (!HasOperationRows(result)) continue;
    for (size_t i = 0; i < kOperations; ++i) {
      const auto operation = static_cast<Operation>(i);
      if (result.totals.Operations(operation) > 0) {
        rows.push_back(OperationRow(result, operation));
      }
    }
  }
  constexpr std::array<size_t, 4> kLeft = {0, 1, 4, 11};
  std::string text = Align(rows, kLeft);
  bool closed = false, open = false;
  for (const PhaseResult& result : results) {
    (result.options.open_loop ? open : closed) = true;
    if (result.options.open_loop) text += PlanText(result);
    const Bottleneck bottleneck = FindBottleneck(result);
    if (bottleneck.text.empty()) continue;
    text += fmt::format("{}, {}: {}\n", result.scenario, result.options.Mode(),
                        bottleneck.text);
  }
  if (closed) {
    text +=
        "closed loop: latency is service time, from the send of a call or "
        "message to its reply;\n";
  }
  if (open) {
    text +=
        "open loop: latency is response time, from the planned start of a call "
        "or message to its reply; service time, from its send, stands below;\n";
  }
  return text +
         "one operation is one RPC or one batched operation (open and close "
         "are two); errors that a scenario expects are not wrong\n";
}

std::string SloTable(const std::vector<PhaseResult>& results, const Slo& slo) {
  std::vector<Row> rows = {{"scenario", "mode", "wanted", "measured", ""}};
  for (const PhaseResult& result : results) {
    for (const SloVerdict& verdict : slo.Judge(result)) {
      rows.push_back({result.scenario, result.options.Mode(), verdict.condition,
                      verdict.measured, verdict.met ? "met" : "MISSED"});
    }
  }
  constexpr std::array<size_t, 4> kLeft = {0, 1, 2, 4};
  return Align(rows, kLeft);
}

std::string CountTable(const std::vector<PhaseResult>& results) {
  std::vector<Row> rows = {{"scenario", "mode", "N", "R", "t,s"}};
  for (const PhaseResult& result : results) {
    rows.push_back({result.scenario, result.options.Mode(),
                    fmt::format("{}", result.options.threads),
                    fmt::format("{}", result.options.count.value_or(0)),
                    fmt::format("{:.6f}", Seconds(result.measured))});
  }
  constexpr std::array<size_t, 2> kLeft = {0, 1};
  return Align(rows, kLeft) +
         "N threads, started together, do R units each; t,s is the time until "
         "the last one is done\n";
}

std::string Complaints(const std::vector<PhaseResult>& results) {
  std::string text;
  for (const PhaseResult& result : results) {
    const std::string where =
        fmt::format("{}, {}", result.scenario, result.options.Mode());
    for (const std::string& complaint : result.complaints) {
      text += fmt::format("wrong answer ({}): {}\n", where, complaint);
    }
    if (result.leaked_handles > 0) {
      text += fmt::format("not closed ({}): {} handles at the end\n", where,
                          Grouped(result.leaked_handles));
    }
    if (result.failure) {
      text += fmt::format("failed ({}): {}\n", where, result.failure->Text());
    }
  }
  return text;
}

}  // namespace vfsload
