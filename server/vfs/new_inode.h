// New inodes. As a caller's operation makes one in a directory: owner, group
// and mode as inode_init_owner(), mode_strip_sgid() and the umask have them,
// all times now. And the directories that the server itself makes (roots,
// imported ones, mount points, proc's).
#pragma once

#include <cstdint>
#include <string_view>

#include "server/base/timestamp.h"
#include "server/vfs/file_system.h"
#include "server/vfs/inode.h"

namespace vfsd::vfs {

struct Caller;

// What every new directory of a file system begins with: a number of its own,
// two links, the size of an empty one, all times `now`. Owner: root; the caller
// changes what is to be something else.
Inode::Init NewDirectory(FileSystem& file_system, uint32_t permissions,
                         Timestamp now);

// The inode, with one reference, for the name that it gets.
PinnedInode MakeInode(Inode::Init init);

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
