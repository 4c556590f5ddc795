// Who may do what with an inode: the kernel's generic_permission(),
// check_sticky() and their like. Functions of what they are given, without
// state; thread safe.
#pragma once

#include <cstdint>

#include "server/base/errno.h"
#include "server/vfs/credentials.h"
#include "server/vfs/inode.h"
#include "server/vfs/vfs.h"

namespace vfsd::vfs {

// Bits of a wanted access, as in access(2).
enum AccessBit : uint32_t { kMayExec = 1, kMayWrite = 2, kMayRead = 4 };

// generic_permission(): kOk or EACCES. `wanted` is a sum of AccessBits.
Errno CheckPermission(const Credentials& credentials, const Inode& inode,
                      uint32_t wanted);

// Whatever the credentials.
inline bool IsSearchableByAll(const Inode& directory) {
  return (directory.mode() & linux_abi::kSIxugo) == linux_abi::kSIxugo;
}

// may_lookup(): search permission on a directory.
inline Errno CheckSearch(const Credentials& credentials,
                         const Inode& directory) {
  // The usual case, without a call.
  if (IsSearchableByAll(directory)) [[likely]]
    return Errno::kOk;
  return CheckPermission(credentials, directory, kMayExec);
}

// inode_owner_or_capable().
inline bool IsOwnerOrPrivileged(const Credentials& credentials,
                                const Inode& inode) {
  return credentials.uid() == inode.uid() || credentials.IsPrivileged();
}

// may_create(): a new name in `directory`. ENOENT if it is removed, EACCES.
Errno CheckMayCreate(const Credentials& credentials, const Inode& directory);

// may_delete(): the name of `victim` in `directory`, to be replaced or removed
// as a directory or as something else. EACCES, EPERM (sticky), ENOTDIR, EISDIR,
// EBUSY (the root of the file system), ENOENT.
Errno CheckMayDelete(const Credentials& credentials, const Inode& directory,
                     const Inode& victim, bool as_directory);

// may_follow_link() (fs.protected_symlinks): kOk or EACCES.
Errno CheckFollowLink(const VfsOptions& options, const Credentials& credentials,
                      const Inode& directory, const Inode& link);

// may_create_in_sticky() (fs.protected_regular, fs.protected_fifos): opening
// what exists with O_CREAT. kOk or EACCES.
Errno CheckCreateInSticky(const VfsOptions& options,
                          const Credentials& credentials,
                          const Inode& directory, const Inode& inode);

}  // namespace vfsd::vfs
