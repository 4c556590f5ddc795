// What an import did: for the log, and for whoever asked for it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vfsd::storage {

struct ImportReport {
  // Inodes made, by type; the root directory counts.
  uint64_t regular_files = 0;
  uint64_t directories = 0;
  uint64_t symlinks = 0;
  uint64_t fifos = 0;
  uint64_t sockets = 0;
  uint64_t character_devices = 0;
  uint64_t block_devices = 0;

  // Further names of inodes that have more than one.
  uint64_t hard_links = 0;
  // Directories that were left empty because another file system is mounted
  // there.
  uint64_t mount_points_skipped = 0;
  // Of all names, without terminators.
  uint64_t name_bytes = 0;
  // Sizes of the regular files added up.
  uint64_t content_bytes = 0;
  double seconds = 0;

  // What could not be imported, by the host's errno; the first few are told
  // with their paths ("path: what: why").
  std::map<int, uint64_t> problems;
  std::vector<std::string> first_problems;

  uint64_t inodes() const {
    return regular_files + directories + symlinks + fifos + sockets +
           character_devices + block_devices;
  }
  // Names, without the root's.
  uint64_t names() const { return inodes() - 1 + hard_links; }
  uint64_t problem_count() const;

  // An inode was made. size: of a regular file.
  void CountInode(uint32_t mode, uint64_t size);
};

// One line: "120 names (100 files, 12 directories …) in 0.1 s; 3 problems:
// 2 EACCES, 1 ENOENT".
std::string ImportReportText(const ImportReport& report);

}  // namespace vfsd::storage
