#include "tests/bench/core/comparison.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "fmt/format.h"

namespace corebench {
namespace {

// False: no worker came to its processor in time, on a busy machine.
bool RunSlice(Contender& contender, std::chrono::nanoseconds duration,
              bool keep) {
  if (contender.prepare) contender.prepare();
  const int64_t process = ProcessCpuNanoseconds();
  const int64_t own = ThreadCpuNanoseconds();
  const auto begin = std::chrono::steady_clock::now();
  const SliceResult result = contender.crew->Run(contender.loops, duration);
  const std::chrono::duration<double, std::nano> elapsed =
      std::chrono::steady_clock::now() - begin;
  int64_t cpu = result.cpu_nanoseconds;
  if (contender.settle) {
    contender.settle();
    // Everything that the process did but for this thread's waiting.
    cpu = (ProcessCpuNanoseconds() - process) - (ThreadCpuNanoseconds() - own);
  }
  if (result.operations == 0) return false;
  if (result.wrong != 0) {
    fmt::print(stderr, "core_bench: {}: {} of {} answers were wrong\n",
               contender.name, result.wrong, result.operations);
    std::exit(1);
  }
  if (keep) {
    contender.cost.Add(static_cast<double>(cpu) /
                       static_cast<double>(result.operations));
    contender.pace.Add(elapsed.count() /
                       static_cast<double>(result.operations));
  }
  return true;
}

}  // namespace

void Comparison::Run(const std::vector<Contender*>& contenders) const {
  std::vector<Contender*> order = contenders;
  // The same choices in every run.
  std::mt19937 random(1);  // NOLINT: no secret
  for (int round = -1; round < plan_.rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    // The first round warms caches and pools.
    for (Contender* contender : order) {
      while (!RunSlice(*contender, plan_.duration, round >= 0)) continue;
    }
  }
}

}  // namespace corebench
