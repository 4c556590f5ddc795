// GrowthSuite: what a large tree does to the core: the cost of look-ups, the
// longest mutation, memory, and how fast a snapshot fills it.
//
// Made and run by the main thread.
#pragma once

#include <cstdint>
#include <string>

#include "tests/bench/core/comparison.h"
#include "tests/bench/core/core_world.h"
#include "tests/bench/core/crew.h"
#include "tests/bench/core/kernel_world.h"
#include "tests/bench/core/ratio.h"

namespace corebench {

class GrowthSuite {
 public:
  // large_files: of the largest tree; 0 leaves out what needs it.
  GrowthSuite(KernelWorld& kernel, Crew& threads, SlicePlan plan,
              uint64_t large_files, RatioReport& report)
      : kernel_(kernel),
        threads_(threads),
        comparison_(plan),
        large_files_(large_files),
        report_(report) {}

  void Run();

 private:
  // Random files of a million, against the kernel's tmpfs.
  void RunRandom();
  // Everything about the tree of ten million.
  void RunLarge();
  // Grows it, looks at it, and writes a snapshot of it.
  void RunLargeTree(const std::string& snapshot);
  void RunLoad(const std::string& file);
  // Grows the tree; the longest of its mknods in milliseconds.
  double WorstMutation(CoreWorld& world) const;

  KernelWorld& kernel_;
  Crew& threads_;
  const Comparison comparison_;
  const uint64_t large_files_;
  RatioReport& report_;
};

}  // namespace corebench
