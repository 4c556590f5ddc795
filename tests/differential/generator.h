// Random programs from a seed: the same seed, the same program.
#pragma once

#include <cstdint>

#include "tests/differential/program.h"

namespace vfsd::differential {

// Handles that a program may hold at once; the runners set the limit (EMFILE).
inline constexpr uint32_t kMaxHandles = 14;

struct GeneratorOptions {
  size_t steps = 40;
  bool ticks = false;
};

Program GenerateProgram(uint64_t seed, const GeneratorOptions& options);

}  // namespace vfsd::differential
