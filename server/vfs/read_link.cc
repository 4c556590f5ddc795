#include "server/vfs/read_link.h"

#include "server/vfs/executor.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

Result<std::string> ReadLink(Vfs& vfs, const Caller& caller,
                             const ReadLinkOperation& operation) {
  // readlinkat(2) takes "" for the handle itself without a flag.
  const Errno path_error =
      CheckPathArgument(operation.path, /*empty_allowed=*/true);
  if (path_error != Errno::kOk) return Fail(path_error);
  const WalkRequest request{vfs, caller.session, *caller.credentials,
                            operation.dir, *operation.path};
  return Walker(request).Look([&](const PathView& path) -> Result<std::string> {
    if (!path.inode->IsSymlink()) {
      return Fail(operation.path->empty() ? Errno::kENOENT : Errno::kEINVAL);
    }
    if (!path.mount->read_only()) path.inode->TouchAccessTime();
    return std::string(path.inode->symlink_target());
  });
}

}  // namespace vfsd::vfs
