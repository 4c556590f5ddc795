// Runs a program on the kernel and on all others in lockstep, compares every
// answer and what is there in the end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/differential/clock_ticks.h"
#include "tests/differential/coverage.h"
#include "tests/differential/runner.h"

namespace vfsd::differential {

struct Failure {
  std::string runner;
  // Index into Program::steps; their number where the end differs.
  size_t step = 0;
  std::string what;
};

class Execution {
 public:
  // The first runner is the oracle.
  explicit Execution(std::vector<std::unique_ptr<Runner>> runners)
      : runners_(std::move(runners)) {}

  // Stops at the first step that differs. coverage: may be null.
  std::optional<Failure> Run(const Program& program, Coverage* coverage);

  const std::vector<std::unique_ptr<Runner>>& runners() const {
    return runners_;
  }

 private:
  std::optional<Failure> RunSteps(const Program& program, Coverage* coverage);

  const std::vector<std::unique_ptr<Runner>> runners_;
  ClockTicks ticks_;
};

}  // namespace vfsd::differential
