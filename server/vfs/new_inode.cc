#include "server/vfs/new_inode.h"

#include <memory>
#include <utility>

#include "server/vfs/executor.h"
#include "server/vfs/session.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

Inode::Init NewDirectory(FileSystem& file_system, uint32_t permissions,
                         Timestamp now) {
  Inode::Init init;
  init.mode = kSIfdir | (permissions & kPermissionBits);
  init.ino = file_system.NextInodeNumber();
  init.nlink = 2;
  init.size = file_system.traits().directory_size_base;
  init.atime = init.mtime = init.ctime = init.btime = now;
  return init;
}

PinnedInode MakeInode(Inode::Init init) {
  return PinnedInode::Adopt(std::make_unique<Inode>(std::move(init)).release());
}

PinnedInode NewInode(FileSystem& file_system, const Inode& directory,
                     const Caller& caller, const NewInodeRequest& request) {
  const Credentials& credentials = *caller.credentials;
  const bool is_directory = IsDirectory(request.mode);
  Inode::Init init;
  if (is_directory) {
    init = NewDirectory(file_system, request.mode, request.now);
  } else {
    init.mode = request.mode;
    init.ino = file_system.NextInodeNumber();
    init.nlink = request.named ? 1 : 0;
    init.atime = init.mtime = init.ctime = init.btime = request.now;
    init.device = request.device;
    init.target = request.target;
    init.allocated =
        request.target.size() > file_system.traits().inline_symlink_bytes;
  }
  // A link's permissions mean nothing, and no umask applies to them.
  if (!IsSymlink(request.mode)) init.mode &= ~(caller.session.umask() & 0777);
  init.uid = credentials.uid();
  init.gid = credentials.gid();
  if ((directory.mode() & kSIsgid) != 0) {
    init.gid = directory.gid();
    constexpr uint32_t kGroupExecutable = kSIsgid | kSIxgrp;
    if (is_directory) {
      init.mode |= kSIsgid;
    } else if ((request.mode & kGroupExecutable) == kGroupExecutable &&
               !credentials.InGroup(init.gid) && !credentials.IsPrivileged()) {
      init.mode &= ~kSIsgid;
    }
  }
  return MakeInode(std::move(init));
}

}  // namespace vfsd::vfs
