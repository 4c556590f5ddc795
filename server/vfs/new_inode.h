// A new inode as a caller's operation makes it in a directory: owner, group and
// mode as inode_init_owner(), mode_strip_sgid() and the umask have them, all
// times now.
#pragma once

#include <cstdint>
#include <string_view>

#include "server/base/timestamp.h"
#include "server/vfs/file_system.h"
#include "server/vfs/inode.h"

namespace vfsd::vfs {

struct Caller;

struct NewInodeRequest {
  uint32_t mode = 0;  // type and permissions, before the umask
  Timestamp now;
  uint64_t device = 0;           // of a device node
  std::string_view target = {};  // of a symbolic link
  bool named = true;             // false: no link yet (O_TMPFILE)
};

// One reference, for the name that it gets.
PinnedInode NewInode(FileSystem& file_system, const Inode& directory,
                     const Caller& caller, const NewInodeRequest& request);

}  // namespace vfsd::vfs
