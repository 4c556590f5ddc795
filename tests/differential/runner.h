// Runner: something that runs programs: the kernel, the core in the process,
// the service behind its wire. One at a time and in lockstep with the others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/vfs/operation.h"
#include "tests/differential/program.h"

namespace vfsd::differential {

struct ListedEntry {
  std::string name;
  uint64_t ino = 0;
  uint8_t type = 0;
  std::optional<vfs::Statx> attributes;
};

// What a step answered.
struct Outcome {
  int32_t error = 0;
  std::optional<vfs::Statx> statx;
  // Sorted by name, without "." and "..".
  std::vector<ListedEntry> entries;
  std::string text;   // of readlink
  int64_t count = 0;  // of read
  // Of statfs: magic number, block size, longest name, flags.
  std::array<uint64_t, 4> statfs{};
  // Of vfsd's runners, between their parts: what an open gave, and where the
  // next page of a directory starts.
  vfs::Handle handle = 0;
  uint64_t next_cursor = 0;
};

// Everything that can be reached: "/path" to what lstat says, and "@3" to what
// fstat says of the open handle 3.
using Listing = std::map<std::string, vfs::Statx>;

class Runner {
 public:
  virtual ~Runner() = default;
  virtual std::string_view name() const = 0;

  // A new namespace for this program.
  virtual void Begin(const Program& program) = 0;
  virtual Outcome Run(const Step& step) = 0;
  // True: this runner would rather have the steps together (RunAll) once the
  // kernel has answered them.
  virtual bool RunsTogether() const { return false; }
  // The first kernel.size() steps; kernel: what the kernel answered.
  virtual std::vector<Outcome> RunAll(const Program& /*program*/,
                                      std::span<const Outcome> /*kernel*/) {
    return {};
  }
  // As root, and without a trace (no access time changes).
  virtual Listing List() = 0;
  // Ends the namespace and all handles. Not empty: what is wrong with what is
  // left of it.
  virtual std::string End() = 0;
};

// "Not asked": the answer to mounting on the root and its like.
inline constexpr int32_t kNotAsked = 125;  // ECANCELED

// The kernel has no call that does several changes of attributes or none: it
// did some of them before one failed, and the program ends there.
inline constexpr int32_t kHalfDone = 1000;

// What of struct statx a step or a listing asks for when all is wanted.
inline constexpr uint32_t kListingMask = 0xfff;

}  // namespace vfsd::differential
