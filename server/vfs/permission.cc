#include "server/vfs/permission.h"

namespace vfsd::vfs {

using linux_abi::IsDirectory;
using linux_abi::IsFifo;
using linux_abi::IsRegular;
using linux_abi::kSIsvtx;
using linux_abi::kSIxugo;

Errno CheckPermission(const Credentials& credentials, const Inode& inode,
                      uint32_t wanted) {
  const uint32_t mode = inode.mode();
  uint32_t granted;
  if (credentials.uid() == inode.uid()) {
    granted = mode >> 6;
  } else if (credentials.InGroup(inode.gid())) {
    granted = mode >> 3;
  } else {
    granted = mode;
  }
  if ((wanted & ~granted & 07) == 0) return Errno::kOk;
  if (!credentials.IsPrivileged()) return Errno::kEACCES;
  // Root may search and list anything, read and write anything, and execute
  // what anybody may execute.
  if (IsDirectory(mode) || (wanted & kMayExec) == 0 || (mode & kSIxugo) != 0)
    return Errno::kOk;
  return Errno::kEACCES;
}

Errno CheckMayCreate(const Credentials& credentials, const Inode& directory) {
  if (directory.HasFlag(kInodeDead)) return Errno::kENOENT;
  return CheckPermission(credentials, directory, kMayWrite | kMayExec);
}

Errno CheckMayDelete(const Credentials& credentials, const Inode& directory,
                     const Inode& victim, bool as_directory) {
  const Errno error =
      CheckPermission(credentials, directory, kMayWrite | kMayExec);
  if (error != Errno::kOk) return error;
  const bool sticky =
      (directory.mode() & kSIsvtx) != 0 && credentials.uid() != victim.uid() &&
      credentials.uid() != directory.uid() && !credentials.IsPrivileged();
  if (sticky) return Errno::kEPERM;
  if (as_directory && !victim.IsDirectory()) return Errno::kENOTDIR;
  if (!as_directory && victim.IsDirectory()) return Errno::kEISDIR;
  if (directory.HasFlag(kInodeDead)) return Errno::kENOENT;
  return Errno::kOk;
}

Errno CheckFollowLink(const VfsOptions& options, const Credentials& credentials,
                      const Inode& directory, const Inode& link) {
  if (options.protected_symlinks == 0) return Errno::kOk;
  if (credentials.uid() == link.uid()) return Errno::kOk;
  constexpr uint32_t kStickyWorldWritable = kSIsvtx | 02;
  if ((directory.mode() & kStickyWorldWritable) != kStickyWorldWritable)
    return Errno::kOk;
  if (directory.uid() == link.uid()) return Errno::kOk;
  return Errno::kEACCES;
}

Errno CheckCreateInSticky(const VfsOptions& options,
                          const Credentials& credentials,
                          const Inode& directory, const Inode& inode) {
  // Devices, sockets and links have no switch: with them the rule always holds
  // for world-writable directories.
  uint32_t level = 1;
  if (IsFifo(inode.mode())) level = options.protected_fifos;
  if (IsRegular(inode.mode())) level = options.protected_regular;
  if (level == 0 || (directory.mode() & kSIsvtx) == 0) return Errno::kOk;
  if (inode.uid() == directory.uid() || inode.uid() == credentials.uid())
    return Errno::kOk;
  const bool world_writable = (directory.mode() & 0002) != 0;
  const bool group_writable = (directory.mode() & 0020) != 0;
  if (world_writable || (group_writable && level >= 2)) return Errno::kEACCES;
  return Errno::kOk;
}

}  // namespace vfsd::vfs
