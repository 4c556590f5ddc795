#include "tests/bench/core/ratio.h"

#include <cstdio>

#include "fmt/format.h"

namespace corebench {

void RatioReport::Add(std::string_view name, const Interval& value,
                      Goal goal_kind, double goal, std::string_view note) {
  const bool met =
      goal_kind == Goal::kAtLeast ? value.median >= goal : value.median <= goal;
  ++lines_;
  if (!met) ++short_;
  fmt::print("RATIO {} {:.4g} {} {:g} {}\n", name, value.median,
             goal_kind == Goal::kAtLeast ? ">=" : "<=", goal,
             met ? "met" : "short");
  fmt::print("      {:.4g} to {:.4g} (95 %): {}\n", value.low, value.high,
             note);
  std::fflush(stdout);
}

}  // namespace corebench
