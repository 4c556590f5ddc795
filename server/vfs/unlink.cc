#include "server/vfs/unlink.h"

#include "absl/cleanup/cleanup.h"
#include "server/vfs/executor.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/permission.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

namespace {

// What the last component must be, before anything is looked up: do_rmdir() and
// do_unlinkat().
Errno CheckLastType(LastType type, bool remove_directory) {
  if (type == LastType::kName) return Errno::kOk;
  if (!remove_directory) return Errno::kEISDIR;
  switch (type) {
    case LastType::kDotDot:
      return Errno::kENOTEMPTY;
    case LastType::kDot:
      return Errno::kEINVAL;
    default:
      return Errno::kEBUSY;  // "/"
  }
}

Errno RemoveDirectory(FileSystem& file_system, Inode& directory,
                      Dentry& dentry) {
  Inode& victim = dentry.inode();
  // Keeps the mutex's memory until it is unlocked.
  const PinnedInode pin = PinnedInode::Share(victim);
  absl::MutexLock lock(&victim.directory().mu);
  // Of whichever mount: is_local_mountpoint() asks for the whole namespace.
  if (victim.HasFlag(kInodeMountPoint)) return Errno::kEBUSY;
  if (!victim.directory().children.empty()) return Errno::kENOTEMPTY;
  RemoveDirectoryName(file_system, directory, dentry, Timestamp::Now());
  return Errno::kOk;
}

}  // namespace

Result<Done> Unlink(Vfs& vfs, const Caller& caller,
                    const UnlinkOperation& operation) {
  if ((operation.flags & ~kAtRemovedir) != 0) return Fail(Errno::kEINVAL);
  const bool remove_directory = (operation.flags & kAtRemovedir) != 0;
  const Errno path_error =
      CheckPathArgument(operation.path, /*empty_allowed=*/false);
  if (path_error != Errno::kOk) return Fail(path_error);
  const WalkRequest request{vfs, caller.session, *caller.credentials,
                            operation.dir, *operation.path};
  const Result<WalkParent> parent = Walker(request).ResolveParent();
  if (!parent.has_value()) return Fail(parent.error());
  Errno error = CheckLastType(parent->type, remove_directory);
  if (error != Errno::kOk) return Fail(error);

  Mount& mount = parent->directory.mount();
  error = mount.WantWrite();
  if (error != Errno::kOk) return Fail(error);
  const absl::Cleanup drop_write = [&mount] { mount.DropWrite(); };
  Inode& directory = parent->directory.inode();
  FileSystem& file_system = mount.file_system();
  absl::MutexLock lock(&directory.directory().mu);
  if (directory.HasFlag(kInodeDead)) return Fail(Errno::kENOENT);
  if (parent->name.size() > kNameMax) return Fail(Errno::kENAMETOOLONG);
  Dentry* const dentry = FindName(file_system, directory, parent->name);
  if (dentry == nullptr) return Fail(Errno::kENOENT);
  Inode& victim = dentry->inode();
  if (!remove_directory && parent->trailing_slash) {
    return Fail(victim.IsDirectory() ? Errno::kEISDIR : Errno::kENOTDIR);
  }
  error =
      CheckMayDelete(*caller.credentials, directory, victim, remove_directory);
  if (error != Errno::kOk) return Fail(error);
  if (!file_system.traits().namespace_mutable) return Fail(Errno::kEPERM);
  if (remove_directory) {
    error = RemoveDirectory(file_system, directory, *dentry);
    if (error != Errno::kOk) return Fail(error);
  } else {
    RemoveName(file_system, directory, *dentry, Timestamp::Now());
  }
  return Done();
}

}  // namespace vfsd::vfs
