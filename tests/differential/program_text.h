// Programs as text, for people and for files: one step a line.
//
//   program NAME
//   oracle ramfs            (default tmpfs)
//   root_mode 1777          (default 0755)
//   umask 0                 (default 022)
//   ticks
//   actor 1 1000:1000:2000,2001
//   @1 = open as=1 dir=cwd path="/d\{a*255}" flags=O_CREAT mode=0644 -> OK
//   close dir=@1
//   end
//
// "#" begins a comment line. Fields that are left out have their defaults.
// Paths are quoted; \xHH is a byte, \{text*N} is text N times. "-> ERRNO" is
// the answer that both sides must give.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/differential/program.h"

namespace vfsd::differential {

std::string ToText(const Step& step);
std::string ToText(const Program& program);

// "ENOENT", "OK"; a number for what has no name.
std::string ErrnoText(int32_t error);

// "O_CREAT|0x40000000" in the words of that kind.
std::string FlagText(Kind kind, uint32_t flags);

// The bits of that kind's flags that have a name: (bit or value, name).
struct FlagName {
  uint32_t value;
  std::string_view name;
};
std::vector<FlagName> FlagNames(Kind kind);

// What `text` holds, or an error that names the line in `error`.
bool ParsePrograms(std::string_view text, std::vector<Program>& programs,
                   std::string& error);

}  // namespace vfsd::differential
