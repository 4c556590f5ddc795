#include "server/storage/import_report.h"

#include <cstring>
#include <iterator>

#include "fmt/format.h"
#include "server/vfs/linux_abi.h"

namespace vfsd::storage {

uint64_t ImportReport::problem_count() const {
  uint64_t count = 0;
  for (const auto& [error, times] : problems) count += times;
  return count;
}

void ImportReport::CountInode(uint32_t mode, uint64_t size) {
  switch (mode & vfs::linux_abi::kSIfmt) {
    case vfs::linux_abi::kSIfdir:
      ++directories;
      break;
    case vfs::linux_abi::kSIflnk:
      ++symlinks;
      break;
    case vfs::linux_abi::kSIfifo:
      ++fifos;
      break;
    case vfs::linux_abi::kSIfsock:
      ++sockets;
      break;
    case vfs::linux_abi::kSIfchr:
      ++character_devices;
      break;
    case vfs::linux_abi::kSIfblk:
      ++block_devices;
      break;
    default:
      ++regular_files;
      content_bytes += size;
  }
}

std::string ImportReportText(const ImportReport& report) {
  std::string text = fmt::format(
      "{} names ({} files, {} directories, {} symbolic links", report.names(),
      report.regular_files, report.directories, report.symlinks);
  const auto add = [&text](uint64_t count, const char* what) {
    if (count != 0) {
      fmt::format_to(std::back_inserter(text), ", {} {}", count, what);
    }
  };
  add(report.fifos, "fifos");
  add(report.sockets, "sockets");
  add(report.character_devices, "character devices");
  add(report.block_devices, "block devices");
  add(report.hard_links, "further hard links");
  fmt::format_to(std::back_inserter(text), ") in {:.2f} s", report.seconds);
  if (report.mount_points_skipped != 0) {
    fmt::format_to(std::back_inserter(text), "; {} mount points left empty",
                   report.mount_points_skipped);
  }
  if (report.problems.empty()) return text;
  fmt::format_to(std::back_inserter(text),
                 "; {} problems:", report.problem_count());
  const char* separator = " ";
  for (const auto& [error, times] : report.problems) {
    const char* const name = strerrorname_np(error);
    fmt::format_to(std::back_inserter(text), "{}{} {}", separator, times,
                   name != nullptr ? name : "?");
    separator = ", ";
  }
  return text;
}

}  // namespace vfsd::storage
