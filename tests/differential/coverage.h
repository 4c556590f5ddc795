// Which answers the kernel gave: counts by operation, flag and errno.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/differential/program.h"

namespace vfsd::differential {

class Coverage {
 public:
  void Count(const Step& step, int32_t error);
  int64_t count(Kind kind, int32_t error) const;
  int64_t total() const { return total_; }
  // A table: a row for each operation and each of its flags, a column for each
  // errno that was met.
  std::string ToText() const;

 private:
  // Key: the kind and the flag's name ("" for all steps of the kind).
  std::map<std::pair<Kind, std::string>, std::map<int32_t, int64_t>> counts_;
  int64_t total_ = 0;
};

}  // namespace vfsd::differential
