// Comparison: contenders that are measured in one run, a slice each in turn,
// in an order that changes from round to round, so that none of them has the
// machine's better moments.
//
// What is compared is the cost of an operation: CPU time of everything that
// worked for it, divided by operations. For the core that includes its own
// threads (memory that is freed after grace periods).
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "tests/bench/core/crew.h"
#include "tests/bench/core/loop.h"
#include "tests/bench/core/series.h"

namespace corebench {

struct Contender {
  std::string name;
  Crew* crew = nullptr;
  std::vector<Loop*> loops;  // one a worker
  // Before and after each of its slices; the latter is charged to it, with all
  // that other threads of this process do until it returns. May be empty.
  std::function<void()> prepare = {};
  std::function<void()> settle = {};
  // CPU nanoseconds an operation, by slice.
  Series cost = {};
  // Nanoseconds of the clock an operation, with all workers working: what there
  // is to compare where workers wait for each other, which takes no CPU time.
  Series pace = {};
};

struct SlicePlan {
  int rounds;
  std::chrono::nanoseconds duration;
};

class Comparison {
 public:
  explicit Comparison(SlicePlan plan) : plan_(plan) {}

  // Fills in the contenders' costs. Wrong answers end the program: what is
  // wrong need not be fast.
  void Run(const std::vector<Contender*>& contenders) const;

 private:
  SlicePlan plan_;
};

}  // namespace corebench
