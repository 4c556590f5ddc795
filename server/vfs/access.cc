#include "server/vfs/access.h"

#include "server/vfs/executor.h"
#include "server/vfs/permission.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

Result<Done> CheckAccess(Vfs& vfs, const Caller& caller,
                         const AccessOperation& operation) {
  constexpr uint32_t kAccessFlags =
      kAtEaccess | kAtSymlinkNofollow | kAtEmptyPath;
  if ((operation.mode & ~(kROk | kWOk | kXOk)) != 0 ||
      (operation.flags & ~kAccessFlags) != 0) {
    return Fail(Errno::kEINVAL);
  }
  // A session has one uid and one gid, which are real and effective: AT_EACCESS
  // makes no difference.
  const bool empty_allowed = (operation.flags & kAtEmptyPath) != 0;
  // Unlike statx(2), faccessat2(2) never takes an absent path for an empty one.
  const Errno path_error = CheckPathArgument(operation.path, empty_allowed);
  if (path_error != Errno::kOk) return Fail(path_error);
  uint32_t flags = 0;
  if ((operation.flags & kAtSymlinkNofollow) == 0) flags |= kWalkFollow;
  const WalkRequest request{vfs,           caller.session,  *caller.credentials,
                            operation.dir, *operation.path, flags};
  return Walker(request).Look([&](const PathView& path) -> Result<Done> {
    const Inode& inode = *path.inode;
    const Errno error =
        CheckPermission(*caller.credentials, inode, operation.mode);
    if (error != Errno::kOk) return Fail(error);
    const bool special =
        !inode.IsRegular() && !inode.IsDirectory() && !inode.IsSymlink();
    if ((operation.mode & kWOk) != 0 && !special && path.mount->read_only()) {
      return Fail(Errno::kEROFS);
    }
    return Done();
  });
}

}  // namespace vfsd::vfs
