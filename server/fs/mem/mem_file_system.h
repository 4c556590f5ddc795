// MemFileSystem: the tree file system. Names and inodes live in memory and
// nowhere else, as in Linux's tmpfs, and what is peculiar to tmpfs is peculiar
// to it too: a directory's size is 40 bytes and 20 more for each name in it
// (BOGO_DIRENT_SIZE), creation times are kept, and the immutable, append-only
// and no-dump attributes are supported (STATX attributes mask 0x70). All three
// were observed on the tmpfs of Linux 6.18.
//
// Its type name is "mem", not "tmpfs": whoever reads /proc/mounts shall not
// expect a file system that also keeps content and swaps.
//
// Owned by its mounts, shared. Thread safe; it has no state of its own beside
// what vfs::FileSystem holds.
#pragma once

#include <cstdint>
#include <optional>

#include "server/base/timestamp.h"
#include "server/vfs/file_system.h"

namespace vfsd::mem {

// The root directory of a new file system (tmpfs's mount options of the same
// names), and its times where they are to be something else than now.
struct RootOptions {
  // Permissions with set-id and sticky bits; a type in it is ignored.
  uint32_t mode = 0755;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::optional<Timestamp> atime = std::nullopt;
  std::optional<Timestamp> mtime = std::nullopt;
  std::optional<Timestamp> ctime = std::nullopt;
  std::optional<Timestamp> btime = std::nullopt;
};

class MemFileSystem final : public vfs::FileSystem {
 public:
  explicit MemFileSystem(const RootOptions& root = {});
};

}  // namespace vfsd::mem
