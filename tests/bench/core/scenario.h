// The scenarios that the core, the kernel and the naive rival all run, and the
// places of the files that they use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace corebench {

enum class Scenario {
  kOpenRo3,    // open a file read-only and close it
  kOpenNeg,    // open a file that is not there
  kFstat,      // stat an open file by "" and AT_EMPTY_PATH
  kStatxNull,  // stat an open file without a path
  kStatxPath,  // stat by a path of five components
  kProcRead,   // open, read and close /proc/version
};

struct ScenarioTraits {
  Scenario scenario;
  std::string_view name;
  // System calls that it takes the kernel.
  int system_calls;
  // Goals: times faster than the kernel, whole and net of system call entry (0:
  // none).
  double vs_kernel;
  double vs_kernel_net;
  // Twice the throughput of one thread with two, ideally (0: no goal).
  double scaling;
};

inline constexpr std::array<ScenarioTraits, 6> kScenarios = {{
    {Scenario::kOpenRo3, "openro3", 2, 20, 10, 1.9},
    {Scenario::kOpenNeg, "openneg", 1, 20, 15, 1.9},
    {Scenario::kFstat, "fstat", 1, 30, 5, 1.9},
    {Scenario::kStatxNull, "statx-null", 1, 30, 0, 0},
    {Scenario::kStatxPath, "statx-path", 1, 10, 5, 0},
    {Scenario::kProcRead, "procread", 3, 20, 8, 0},
}};

inline std::optional<Scenario> ScenarioFromName(std::string_view name) {
  for (const ScenarioTraits& traits : kScenarios)
    if (traits.name == name) return traits.scenario;
  return std::nullopt;
}

// Relative to the root of each contender's tree. The first two directories and
// the missing file are what the open scenarios use; the last is five deep.
inline constexpr std::string_view kHotFile = "hot/file";
inline constexpr std::string_view kMissingFile = "hot/missing";
inline constexpr std::string_view kDeepDirectory = "hot/a/b/c";
inline constexpr std::string_view kDeepFile = "hot/a/b/c/deep";

// O_RDONLY.
inline constexpr uint32_t kReadOnly = 0;
// What reads of /proc/version ask for.
inline constexpr size_t kReadBytes = 4096;

}  // namespace corebench
