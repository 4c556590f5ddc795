#include "client/load/replay_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "client/lib/channel.h"
#include "client/lib/errno_table.h"
#include "client/load/duration.h"
#include "client/load/interrupt.h"
#include "client/load/private_directory.h"
#include "client/load/replay.h"
#include "client/load/report.h"
#include "client/load/trace_text.h"
#include "client/load/version.h"

namespace vfsload {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{5'000};
constexpr size_t kShownDifferences = 10;
constexpr std::string_view kSchema = "vfsload.replay/1";

template <class... Args>
ExitStatus Complain(ExitStatus status, fmt::format_string<Args...> format,
                    Args&&... args) {
  fmt::print(stderr, "vfsload: {}\n",
             fmt::format(format, std::forward<Args>(args)...));
  return status;
}

ExitStatus StatusOf(const vfsclient::Error& error) {
  return IsUnreachable(error) ? ExitStatus::kUnreachable : ExitStatus::kWrong;
}

std::string CallText(const StraceLog& log, const ReplayOperation& operation) {
  if (!operation.call) return operation.operation.ShortDebugString();
  const Syscall& call = log.calls[*operation.call];
  std::string text = call.name + "(";
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    text += (i == 0 ? "" : ", ") + call.arguments[i];
  }
  return text + ")";
}

std::string DifferenceText(const StraceLog& log, const ReplayPlan& plan,
                           const ReplayDifference& difference) {
  const ReplayOperation& operation = plan.operations[difference.operation];
  return fmt::format("{}: {}, and {} in the trace", CallText(log, operation),
                     vfsclient::ErrnoName(difference.got_errno),
                     vfsclient::ErrnoName(operation.expected_errno));
}

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string LatencyText(const LatencyHistogram& latency) {
  return fmt::format(
      "p50 {}, p90 {}, p99 {}, max {}", DurationText(latency.Quantile(0.5)),
      DurationText(latency.Quantile(0.9)), DurationText(latency.Quantile(0.99)),
      DurationText(latency.Max()));
}

// What was replayed and what was not, every call once.
void PrintAccount(const StraceLog& log, const ReplayPlan& plan) {
  fmt::print("trace: {} calls of {} processes; {} replayed, {} left out:\n",
             Grouped(plan.calls), Grouped(plan.processes),
             Grouped(plan.replayed), Grouped(plan.calls - plan.replayed));
  for (const auto& [reason, count] : plan.left_out) {
    fmt::print("  {:>9}  {}\n", Grouped(count), reason);
  }
  for (const auto& [reason, count] : plan.added) {
    fmt::print("  {:>9}  operations added: {}\n", Grouped(count), reason);
  }
  if (log.strange_lines + log.unbegun > 0) {
    fmt::print(
        "  {:>9}  lines that are none of strace's, {} that resume a "
        "call from before the log\n",
        Grouped(log.strange_lines), Grouped(log.unbegun));
  }
}

void PrintOutcome(const StraceLog& log, const ReplayPlan& plan,
                  const ReplayCommandOptions& options,
                  const ReplayOutcome& outcome) {
  const double seconds = Seconds(outcome.elapsed);
  fmt::print(
      "replay: {} operations, {}, in {} ({} ops/s); {} that use a file which "
      "did not open\n",
      Grouped(outcome.answered),
      options.batch > 1 ? fmt::format("batches of {}", options.batch) : "unary",
      DurationText(outcome.elapsed),
      seconds > 0 ? Grouped(static_cast<uint64_t>(
                        static_cast<double>(outcome.answered) / seconds))
                  : "-",
      Grouped(outcome.without_file));
  const std::string_view of = options.batch > 1 ? "message" : "call";
  fmt::print("service time of a {}, from its send: {}\n", of,
             LatencyText(outcome.service));
  if (outcome.response.Count() > 0) {
    fmt::print("response time of a {}, from its time in the trace: {}\n", of,
               LatencyText(outcome.response));
  }
  fmt::print("errno differences: {}\n", Grouped(outcome.differences.size()));
  for (size_t i = 0;
       i < std::min(kShownDifferences, outcome.differences.size()); ++i) {
    fmt::print("  {}\n", DifferenceText(log, plan, outcome.differences[i]));
  }
}

nlohmann::ordered_json Json(const StraceLog& log, const ReplayPlan& plan,
                            const ReplayCommandOptions& options,
                            const ReplayOutcome& outcome, ExitStatus status) {
  const auto latency = [](const LatencyHistogram& histogram) {
    const auto us = [&](double quantile) {
      return static_cast<double>(histogram.Quantile(quantile).count()) / 1e3;
    };
    return nlohmann::ordered_json{
        {"count", histogram.Count()}, {"p50_us", us(0.5)},
        {"p90_us", us(0.9)},          {"p99_us", us(0.99)},
        {"p999_us", us(0.999)},       {"max_us", us(1)}};
  };
  nlohmann::ordered_json differences = nlohmann::ordered_json::array();
  for (const ReplayDifference& difference : outcome.differences) {
    differences.push_back(DifferenceText(log, plan, difference));
  }
  return {{"schema", kSchema},
          {"version", kVersion},
          {"trace", options.trace},
          {"target", options.target},
          {"batch", options.batch},
          {"speed", options.speed},
          {"calls", plan.calls},
          {"processes", plan.processes},
          {"replayed_calls", plan.replayed},
          {"left_out", plan.left_out},
          {"added", plan.added},
          {"strange_lines", log.strange_lines},
          {"operations", outcome.answered},
          {"without_file", outcome.without_file},
          {"seconds", Seconds(outcome.elapsed)},
          {"service", latency(outcome.service)},
          {"response", outcome.response.Count() > 0
                           ? latency(outcome.response)
                           : nlohmann::ordered_json(nullptr)},
          {"differences", differences},
          {"failure", outcome.failure
                          ? nlohmann::ordered_json(outcome.failure->Text())
                          : nlohmann::ordered_json(nullptr)},
          {"interrupted", outcome.interrupted},
          {"exit_status", static_cast<int>(status)}};
}

std::expected<std::optional<double>, std::string> ParseSpeed(
    const std::string& text) {
  if (text == "max") return std::nullopt;
  double speed = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), speed);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(speed > 0 && speed <= 1e6)) {
    return std::unexpected(fmt::format(
        "'{}' is no speed: want max, or a factor such as 1 or 2.5", text));
  }
  return speed;
}

}  // namespace

ExitStatus RunReplay(const ReplayCommandOptions& options) {
  const auto address = vfsclient::Address::Parse(options.target);
  if (!address) {
    return Complain(ExitStatus::kUsage, "--target: {}", address.error());
  }
  const auto speed = ParseSpeed(options.speed);
  if (!speed) return Complain(ExitStatus::kUsage, "--speed: {}", speed.error());
  const auto text = ReadTraceText(options.trace);
  if (!text) return Complain(ExitStatus::kUsage, "--trace: {}", text.error());
  if (!text->damage.empty()) {
    fmt::print(stderr, "vfsload: {} is damaged ({}); using what comes before\n",
               options.trace, text->damage);
  }
  const StraceLog log = StraceLog::Parse(text->text);
  if (log.calls.empty() || log.strange_lines > log.calls.size()) {
    return Complain(ExitStatus::kUsage,
                    "--trace: {} is no strace output ({} calls, {} other "
                    "lines)",
                    options.trace, log.calls.size(), log.strange_lines);
  }
  if (*speed && !log.calls.front().time) {
    return Complain(ExitStatus::kUsage,
                    "--speed {}: the trace has no times (record it with "
                    "strace -ttt)",
                    options.speed);
  }
  std::ofstream json;
  if (!options.json.empty()) {
    json.open(options.json);
    if (!json) {
      return Complain(ExitStatus::kUsage, "--json: cannot write {}",
                      options.json);
    }
  }

  InstallInterrupt();
  auto channel = vfsclient::Connect(*address, kConnectTimeout);
  if (!channel) {
    return Complain(ExitStatus::kUnreachable, "{}", channel.error().Text());
  }
  const auto session = vfsclient::Session::Start(
      *channel, SessionOptionsFor(Identity{}, /*keep_alive=*/true));
  if (!session) {
    return Complain(StatusOf(session.error()), "cannot open a session: {}",
                    session.error().Text());
  }
  auto directory =
      PrivateDirectory::Make(*session, options.tree,
                             fmt::format("replay-{}-{:x}", getpid(),
                                         session->info().session_number()));
  if (!directory) {
    return Complain(StatusOf(directory.error()),
                    "cannot make a directory in {}: {}", options.tree,
                    directory.error().Text());
  }
  const ReplayPlan plan = ReplayPlan::Make(log, directory->path());
  PrintAccount(log, plan);
  if (const auto ready = PrepareTree(*session, directory->path(), plan.tree);
      !ready) {
    return Complain(StatusOf(ready.error()),
                    "cannot prepare the namespace of the trace: {}",
                    ready.error().Text());
  }
  const auto replayer = vfsclient::Session::Start(
      *channel, SessionOptionsFor(Identity{}, /*keep_alive=*/true));
  if (!replayer) {
    return Complain(StatusOf(replayer.error()), "cannot open a session: {}",
                    replayer.error().Text());
  }
  if (options.batch > replayer->info().max_batch_operations()) {
    return Complain(ExitStatus::kUsage, "--batch: the server takes at most {}",
                    replayer->info().max_batch_operations());
  }
  const ReplayOutcome outcome =
      Replay(*replayer, plan, {options.batch, *speed});
  PrintOutcome(log, plan, options, outcome);

  ExitStatus status = ExitStatus::kOk;
  if (outcome.failure) {
    status = StatusOf(*outcome.failure);
    fmt::print(stderr, "vfsload: the replay ended early: {}\n",
               outcome.failure->Text());
    if (status == ExitStatus::kUnreachable) directory->Abandon();
  } else if (!outcome.differences.empty() || outcome.without_file > 0 ||
             !text->damage.empty()) {
    status = ExitStatus::kWrong;
  }
  if (json.is_open()) {
    json << Json(log, plan, options, outcome, status)
                .dump(2, ' ', false,
                      nlohmann::ordered_json::error_handler_t::replace)
         << '\n';
    json.close();
    if (!json) {
      fmt::print(stderr, "vfsload: cannot write {}\n", options.json);
      if (status == ExitStatus::kOk) status = ExitStatus::kWrong;
    }
  }
  return status;
}

}  // namespace vfsload
