// RatioReport: the result lines of a benchmark, and whether all goals were met.
//
//   RATIO <name> <value> <op> <goal> <met|short>
//
// op is >= or <=. The interval of the value follows in a line of its own.
#pragma once

#include <string_view>

#include "tests/bench/core/series.h"

namespace corebench {

enum class Goal { kAtLeast, kAtMost };

class RatioReport {
 public:
  // `note` says what was measured against what.
  void Add(std::string_view name, const Interval& value, Goal goal_kind,
           double goal, std::string_view note);

  int lines() const { return lines_; }
  int short_lines() const { return short_; }

 private:
  int lines_ = 0;
  int short_ = 0;
};

}  // namespace corebench
