// core_bench: the core against the local kernel, against a naive rival, and
// against itself with a fast path switched off. tests/bench/run.sh core builds
// and runs it.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

#include "fmt/format.h"
#include "tests/bench/core/core_world.h"
#include "tests/bench/core/scenario_suite.h"

namespace corebench {
namespace {

// For a tool that counts instructions: one scenario's operations and nothing
// else but making what they need.
int RunOnce(Scenario scenario, uint64_t operations) {
  CoreWorld core("version\n", 1);
  core.MakeHotFiles();
  LoopEnd end;
  end.operations = operations;
  const LoopCounts counts = core.MakeLoop(scenario, 0)(end);
  fmt::print("operations {}\n", counts.operations);
  return counts.wrong == 0 ? 0 : 1;
}

int RunAll(bool quick) {
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
    ScenarioSuite(kernel, threads, plan, report).Run();
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
                 "run one scenario on one thread and end, for tools that count "
                 "instructions");
  uint64_t operations = 100'000;
  app.add_option("--operations", operations, "how often, with --once");
  CLI11_PARSE(app, argc, argv);
  if (once.empty()) return corebench::RunAll(quick);
  const std::optional<corebench::Scenario> scenario =
      corebench::ScenarioFromName(once);
  if (!scenario.has_value()) {
    fmt::print(stderr, "core_bench: no scenario \"{}\"\n", once);
    return 2;
  }
  return corebench::RunOnce(*scenario, operations);
}
