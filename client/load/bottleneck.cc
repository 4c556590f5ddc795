#include "client/load/bottleneck.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "client/load/duration.h"

namespace vfsload {
namespace {

// A thread or machine that is busy for this much of the time has no more to
// give: what is missing went to the scheduler and to others.
constexpr double kBusy = 0.9;
constexpr double kHeld = 0.99;
constexpr double kShortest = 0.01;  // seconds
constexpr std::chrono::milliseconds kMuchLag{1};

}  // namespace

std::string_view LimitName(Limit limit) {
  constexpr std::array<std::string_view, 6> kNames = {
      "unknown", "none", "client", "machine", "server", "in-flight"};
  return kNames[static_cast<size_t>(limit)];
}

Bottleneck FindBottleneck(const PhaseResult& result) {
  const double seconds = std::chrono::duration<double>(result.measured).count();
  const uint64_t operations = result.totals.Operations();
  if (seconds < kShortest || operations == 0) return {};
  const double client = result.client_cpu_seconds / seconds;
  const double server = result.server_cpu_seconds.value_or(0) / seconds;
  const auto threads = static_cast<double>(result.options.threads);
  const std::string cpu = fmt::format(
      "client {:.2f} CPUs of {} thread{}{}", client, result.options.threads,
      result.options.threads == 1 ? "" : "s",
      result.server_cpu_seconds ? fmt::format(", server {:.2f} CPUs", server)
                                : ", server's CPU not known");
  std::string rate;
  if (result.options.open_loop && result.planned_operations > 0) {
    const double held =
        static_cast<double>(operations) / result.planned_operations;
    const auto lag = result.totals.lag.Quantile(0.99);
    rate = fmt::format("{:.1f} % of the target rate, p99 schedule lag {}; ",
                       100 * held, DurationText(lag));
    if (held >= kHeld && result.totals.Dropped() == 0) {
      // Held in the end; a client that was late all the same says so.
      if (lag <= kMuchLag || client < kBusy * threads) {
        return {Limit::kNone, "the rate was held: " + rate + cpu};
      }
    }
  }
  if (client >= kBusy * threads) {
    return {Limit::kClient,
            "this is the client's own limit, not the server's: its threads are "
            "busy (" +
                rate + cpu + "); give it more --threads or CPUs"};
  }
  if (result.shared_cpus > 0 && result.server_cpu_seconds &&
      client + server >= kBusy * result.shared_cpus) {
    return {Limit::kMachine,
            fmt::format("client and server share {:g} CPUs and use them up "
                        "({}{}); on a machine of its own the server may do "
                        "more",
                        result.shared_cpus, rate, cpu)};
  }
  // Whole CPUs: a server of N threads that are all busy.
  if (server >= kBusy) {
    return {Limit::kServer,
            "the server's CPU is the likely limit (" + rate + cpu + ")"};
  }
  return {Limit::kInFlight,
          fmt::format("neither side is busy ({}{}): {} in flight is what "
                      "limits, or the network",
                      rate, cpu, result.options.in_flight)};
}

}  // namespace vfsload
