// core_bench: the core against the local kernel, against a naive rival, and
// against itself with a fast path switched off. tests/bench/run.sh core builds
// and runs it.
#include <CLI/CLI.hpp>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "tests/bench/core/core_world.h"
#include "tests/bench/core/growth_suite.h"
#include "tests/bench/core/scenario_suite.h"

namespace corebench {
namespace {

// For tools that count instructions or look at memory accesses: one scenario's
// operations on threads that run one after the other, and nothing else but
// making what they need.
int RunOnce(Scenario scenario, uint64_t operations, size_t threads) {
  CoreWorld core("version\n", threads);
  core.MakeHotFiles();
  LoopEnd end;
  end.operations = operations;
  uint64_t wrong = 0;
  // All threads live until the end, so that they have shards of their own.
  std::barrier all_done(static_cast<ptrdiff_t>(threads));
  std::vector<std::thread> running;
  std::atomic<size_t> turn{0};
  for (size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      for (size_t now = turn; now != i; now = turn) turn.wait(now);
      wrong += core.MakeLoop(scenario, i)(end).wrong;
      ++turn;
      turn.notify_all();
      all_done.arrive_and_wait();
    });
  }
  for (std::thread& thread : running) thread.join();
  return wrong == 0 ? 0 : 1;
}

int RunAll(bool quick, const std::string& only, uint64_t large_files) {
  const auto wants = [&only](std::string_view part) {
    return only.empty() || only == part;
  };
  using std::chrono::milliseconds;
  const SlicePlan plan =
      quick ? SlicePlan{21, milliseconds(8)} : SlicePlan{41, milliseconds(20)};
  // Before any thread: it makes namespaces and processes.
  KernelSide kernel;
  RatioReport report;
  {
    Crew threads(Crew::Kind::kThreads, KernelSide::kWorkers);
    fmt::print("kernel's side: {}; {} rounds of {} ms a contender\n",
               kernel.world().place(), plan.rounds,
               std::chrono::duration_cast<milliseconds>(plan.duration).count());
    if (wants("scenarios")) ScenarioSuite(kernel, threads, plan, report).Run();
    if (wants("growth")) {
      GrowthSuite(kernel.world(), threads, plan, quick ? 0 : large_files,
                  report)
          .Run();
    }
  }
  fmt::print("\n{} results, {} short of their goals\n", report.lines(),
             report.short_lines());
  return 0;
}

}  // namespace
}  // namespace corebench

int main(int argc, char** argv) {
  CLI::App app("Measures the core: CPU time an operation, in RATIO lines.",
               "core_bench");
  bool quick = false;
  app.add_flag("--quick", quick, "short slices, and no tree of ten million");
  std::string once;
  app.add_option("--once", once,
                 "run one scenario and end, for tools that count "
                 "instructions");
  std::string only;
  app.add_option("--only", only, "one part of the suite")
      ->check(CLI::IsMember({"scenarios", "growth"}));
  uint64_t large_files = 10'000'000;
  app.add_option("--large-files", large_files,
                 "files in the largest tree (the goals are for the default)")
      ->check(CLI::Range(100'000, 50'000'000));
  uint64_t operations = 100'000;
  app.add_option("--operations", operations, "how often, with --once");
  size_t threads = 1;
  app.add_option("--threads", threads,
                 "on so many threads one after the other, with --once")
      ->check(CLI::Range(1, 8));
  CLI11_PARSE(app, argc, argv);
  if (once.empty()) return corebench::RunAll(quick, only, large_files);
  const std::optional<corebench::Scenario> scenario =
      corebench::ScenarioFromName(once);
  if (!scenario.has_value()) {
    fmt::print(stderr, "core_bench: no scenario \"{}\"\n", once);
    return 2;
  }
  return corebench::RunOnce(*scenario, operations, threads);
}
