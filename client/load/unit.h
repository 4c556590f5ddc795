// A unit of a scenario: the operations that belong together, each with the
// answer that is right.
//
// "Open this file, read it, close it" is a unit of three steps. A step may use
// the file that an earlier step of its unit opened. Units are what a load is
// made of and what is sent whole: unary, the steps of a unit follow each other,
// each waiting for its answer; batched, whole units are laid one after the
// other in a message. Plain values, made at preparation, then only read.
#ifndef CLIENT_LOAD_UNIT_H_
#define CLIENT_LOAD_UNIT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vfs/v1/vfs.pb.h"

namespace vfsload {

// What identifies a file's attributes well enough to notice a wrong answer.
// Times are left out, since the load itself may change them.
struct StatExpectation {
  uint32_t mode = 0;
  uint64_t ino = 0;
  uint64_t size = 0;

  static StatExpectation Of(const vfs::v1::StatResponse& stat) {
    return {stat.mode(), stat.ino(), stat.size()};
  }
  friend bool operator==(const StatExpectation&,
                         const StatExpectation&) = default;
};

// The names, inode numbers and types of a page of entries, in their order.
struct DirectoryDigest {
  size_t entries = 0;
  uint64_t hash = 0;

  static DirectoryDigest Of(const vfs::v1::ReadDirectoryResponse& page);
  friend bool operator==(const DirectoryDigest&,
                         const DirectoryDigest&) = default;
};

// The answer that is right. An open's handle must not be 0, whatever else.
struct Expectation {
  int errno_code = 0;
  std::optional<StatExpectation> stat;
  // The bytes of a read; or only how they start.
  std::optional<std::string> data;
  bool data_is_prefix = false;
  std::optional<DirectoryDigest> directory;
};

struct Step {
  vfs::v1::BatchOperation operation;
  // The earlier step of the unit whose open file this one uses; -1 for none.
  int uses_step = -1;
  Expectation expected;
};

struct Unit {
  std::vector<Step> steps;
  // How often, relative to the other units of the load.
  double weight = 1;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_UNIT_H_
