// ScenarioSuite: every scenario, measured for the core, the kernel and the
// naive rival, with one thread and two; and what each fast path is worth.
//
// Made and run by the main thread. Construct its KernelSide before any thread
// exists.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/core/comparison.h"
#include "tests/bench/core/core_world.h"
#include "tests/bench/core/crew.h"
#include "tests/bench/core/kernel_world.h"
#include "tests/bench/core/naive_tree.h"
#include "tests/bench/core/ratio.h"
#include "tests/bench/core/scenario.h"

namespace corebench {

// The kernel's tree, and the loops and processes that measure it.
class KernelSide {
 public:
  static constexpr size_t kWorkers = 2;

  KernelSide();

  KernelWorld& world() { return world_; }
  Crew& processes() { return *processes_; }
  // A loop a worker.
  std::vector<Loop*> LoopsOf(Scenario scenario);
  Loop* empty_system_call() { return &empty_; }

 private:
  KernelWorld world_;
  Loop empty_;
  // By scenario and worker; never moved, since the processes know them by
  // address.
  std::vector<std::vector<Loop>> loops_;
  std::unique_ptr<Crew> processes_;
};

class ScenarioSuite {
 public:
  ScenarioSuite(KernelSide& kernel, Crew& threads, SlicePlan plan,
                RatioReport& report);

  void Run();

 private:
  void RunScenario(const ScenarioTraits& traits);
  void RunAblations();

  KernelSide& kernel_;
  Crew& threads_;
  const Comparison comparison_;
  RatioReport& report_;
  CoreWorld core_;
  NaiveTree naive_;
};

}  // namespace corebench
