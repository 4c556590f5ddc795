#include "tests/bench/core/scenario_suite.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "fmt/format.h"
#include "server/sync/rcu.h"
#include "server/sync/spreading_count.h"

namespace corebench {
namespace {

using vfsd::vfs::FastPath;

constexpr size_t kTwo = 2;

void PrintCost(const Contender& contender) {
  const Interval cost = contender.cost.Summary();
  fmt::print("  {:<28} {:8.1f} ns  ({:.1f} to {:.1f})\n", contender.name,
             cost.median, cost.low, cost.high);
}

// Pointers to the first `count`.
std::vector<Loop*> First(std::vector<Loop>& loops, size_t count) {
  std::vector<Loop*> first;
  for (size_t i = 0; i < count; ++i) first.push_back(&loops[i]);
  return first;
}

}  // namespace

KernelSide::KernelSide() : empty_(KernelWorld::EmptySystemCall()) {
  world_.MakeHotFiles();
  for (const ScenarioTraits& traits : kScenarios) {
    std::vector<Loop>& loops = loops_.emplace_back();
    for (size_t i = 0; i < kWorkers; ++i)
      loops.push_back(world_.MakeLoop(traits.scenario));
  }
  processes_ = std::make_unique<Crew>(Crew::Kind::kProcesses, kWorkers);
}

std::vector<Loop*> KernelSide::LoopsOf(Scenario scenario) {
  return First(loops_[static_cast<size_t>(scenario)], kWorkers);
}

ScenarioSuite::ScenarioSuite(KernelSide& kernel, Crew& threads, SlicePlan plan,
                             RatioReport& report)
    : kernel_(kernel),
      threads_(threads),
      comparison_(plan),
      report_(report),
      core_(kernel.world().version(), kTwo),
      naive_(kernel.world().version(), geteuid(), getegid()) {
  core_.MakeHotFiles();
  naive_.MakeHotFiles();
}

void ScenarioSuite::Run() {
  for (const ScenarioTraits& traits : kScenarios) RunScenario(traits);
  RunAblations();
}

void ScenarioSuite::RunScenario(const ScenarioTraits& traits) {
  std::vector<Loop> core_loops;
  std::vector<Loop> naive_loops;
  for (size_t i = 0; i < kTwo; ++i) {
    core_loops.push_back(core_.MakeLoop(traits.scenario, i));
    naive_loops.push_back(naive_.MakeLoop(traits.scenario));
  }
  const std::vector<Loop*> kernel_loops = kernel_.LoopsOf(traits.scenario);
  const std::function<void()> settle = [] { vfsd::sync::RcuBarrier(); };

  Contender core_one{
      "core, 1 thread", &threads_, First(core_loops, 1), {}, settle};
  Contender core_two{
      "core, 2 threads", &threads_, First(core_loops, kTwo), {}, settle};
  Contender kernel_one{"kernel, 1 thread", &threads_, {kernel_loops[0]}};
  Contender kernel_threads{"kernel, 2 threads", &threads_, kernel_loops};
  Contender kernel_processes{"kernel, 2 processes", &kernel_.processes(),
                             kernel_loops};
  Contender naive_one{"naive, 1 thread", &threads_, First(naive_loops, 1)};
  Contender naive_two{"naive, 2 threads", &threads_, First(naive_loops, kTwo)};
  Contender empty{"getppid", &threads_, {kernel_.empty_system_call()}};
  const std::vector<Contender*> all = {
      &core_one,         &core_two,  &kernel_one, &kernel_threads,
      &kernel_processes, &naive_one, &naive_two,  &empty};
  comparison_.Run(all);

  fmt::print("\n== {}: CPU time an operation\n", traits.name);
  for (const Contender* contender : all) PrintCost(*contender);

  const auto add = [&](std::string_view name, const Series& value, double goal,
                       std::string_view note) {
    if (goal == 0) return;
    report_.Add(fmt::format("core.{}.{}", traits.name, name), value.Summary(),
                Goal::kAtLeast, goal, note);
  };
  add("vs_kernel", Quotient(kernel_one.cost, core_one.cost), traits.vs_kernel,
      "the kernel's system calls over the core, one thread");
  add("vs_kernel_net",
      Quotient(Difference(kernel_one.cost, empty.cost, traits.system_calls),
               core_one.cost),
      traits.vs_kernel_net, "the same without entering the kernel (getppid)");
  add("vs_naive", Quotient(naive_one.cost, core_one.cost), 2,
      "maps and a mutex over the core, one thread");
  // By the clock: threads that wait for a mutex use no CPU time.
  add("vs_naive_2t", Quotient(naive_two.pace, core_two.pace), 4,
      "two threads' throughput, by the clock: the core's over maps and a "
      "mutex");
  add("scaling", Quotient(core_one.cost, core_two.cost, kTwo), traits.scaling,
      "two threads' throughput over one thread's, on the same file");
  // Not a goal, but what everybody asks.
  const Contender& kernel_two = kernel_threads.cost.Summary().median <
                                        kernel_processes.cost.Summary().median
                                    ? kernel_threads
                                    : kernel_processes;
  const Interval two = Quotient(kernel_two.cost, core_two.cost).Summary();
  fmt::print("  {} over core, 2 threads: {:.1f} ({:.1f} to {:.1f})\n",
             kernel_two.name, two.median, two.low, two.high);
}

void ScenarioSuite::RunAblations() {
  struct Ablation {
    FastPath fast_path;
    Scenario scenario;
    size_t threads;
    double goal;
    std::string_view name;
  };
  static constexpr Ablation kAblations[] = {
      {FastPath::kOpenConsume, Scenario::kOpenRo3, 1, 0, "open_consume"},
      {FastPath::kOpenConsume, Scenario::kOpenRo3, 2, 1.39, "open_consume_2t"},
      {FastPath::kPermanent, Scenario::kProcRead, 1, 1.2, "permanent"},
      {FastPath::kPermanent, Scenario::kProcRead, 2, 1.5, "permanent_2t"},
      {FastPath::kEmptyPath, Scenario::kFstat, 1, 1.4, "empty_path"},
      {FastPath::kEmptyPath, Scenario::kFstat, 2, 0, "empty_path_2t"},
      {FastPath::kEmptyPath, Scenario::kStatxNull, 1, 1.4, "empty_path_null"},
      {FastPath::kEmptyPath, Scenario::kStatxNull, 2, 0, "empty_path_null_2t"},
      {FastPath::kReleaseEmpty, Scenario::kOpenNeg, 1, 1.0, "release_empty"},
      {FastPath::kReleaseEmpty, Scenario::kOpenNeg, 2, 0, "release_empty_2t"},
  };
  const std::function<void()> settle = [] { vfsd::sync::RcuBarrier(); };
  // open-consume saves changes of the file's count: compared on a plain one, as
  // the kernel's is, in a world whose hot file has never been spread.
  CoreWorld plain(kernel_.world().version(), kTwo);
  plain.MakeHotFiles();
  for (const Ablation& ablation : kAblations) {
    const bool on_plain = ablation.fast_path == FastPath::kOpenConsume;
    vfsd::sync::SpreadingCount::SetSpreading(!on_plain);
    CoreWorld& world = on_plain ? plain : core_;
    vfsd::vfs::FastPaths& switches = world.vfs().fast_paths;
    std::vector<Loop> loops;
    for (size_t i = 0; i < ablation.threads; ++i)
      loops.push_back(world.MakeLoop(ablation.scenario, i));
    const std::vector<Loop*> pointers = First(loops, ablation.threads);
    Contender on{"on", &threads_, pointers,
                 [&] { switches.Set(ablation.fast_path, true); }, settle};
    Contender off{"off", &threads_, pointers,
                  [&] { switches.Set(ablation.fast_path, false); }, settle};
    comparison_.Run({&on, &off});
    switches.Set(ablation.fast_path, true);
    vfsd::sync::SpreadingCount::SetSpreading(true);

    fmt::print("\n== fast path {}, {} threads\n",
               vfsd::vfs::FastPathName(ablation.fast_path), ablation.threads);
    PrintCost(on);
    PrintCost(off);
    const Series gain = Quotient(off.cost, on.cost);
    const Interval value = gain.Summary();
    if (ablation.goal == 0) {
      fmt::print("  off over on: {:.3f} ({:.3f} to {:.3f})\n", value.median,
                 value.low, value.high);
      continue;
    }
    const std::string name = fmt::format("core.ablation.{}", ablation.name);
    if (ablation.fast_path != FastPath::kReleaseEmpty) {
      report_.Add(name, value, Goal::kAtLeast, ablation.goal,
                  "switched off over switched on");
      continue;
    }
    // What counts is that the gain is one beyond doubt, however small.
    report_.Add(name, {value.low, value.low, value.high}, Goal::kAtLeast,
                ablation.goal,
                fmt::format("the interval's lower end; the median is {:.3f}",
                            value.median));
    report_.Add("core.ablation.release_empty_general_ns",
                Difference(off.cost, on.cost).Summary(), Goal::kAtMost, 60,
                "nanoseconds that the general path takes longer");
  }
}

}  // namespace corebench
