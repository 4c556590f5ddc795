#include "server/vfs/make_directory.h"

#include "absl/cleanup/cleanup.h"
#include "server/vfs/executor.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/open.h"
#include "server/vfs/permission.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

Result<Done> MakeDirectory(Vfs& vfs, const Caller& caller,
                           const MakeDirectoryOperation& operation) {
  const Errno path_error =
      CheckPathArgument(operation.path, /*empty_allowed=*/false);
  if (path_error != Errno::kOk) return Fail(path_error);
  const WalkRequest request{vfs, caller.session, *caller.credentials,
                            operation.dir, *operation.path};
  const Result<WalkParent> parent = Walker(request).ResolveParent();
  if (!parent.has_value()) return Fail(parent.error());

  // filename_create(): that the name exists comes before anything that forbids
  // to make it.
  if (parent->type != LastType::kName) return Fail(Errno::kEEXIST);
  Mount& mount = parent->directory.mount();
  const Errno write_error = mount.WantWrite();
  const absl::Cleanup drop_write = [&mount, write_error] {
    if (write_error == Errno::kOk) mount.DropWrite();
  };
  Inode& directory = parent->directory.inode();
  FileSystem& file_system = mount.file_system();
  absl::MutexLock lock(&directory.directory().mu);
  if (directory.HasFlag(kInodeDead)) return Fail(Errno::kENOENT);
  if (parent->name.size() > kNameMax) return Fail(Errno::kENAMETOOLONG);
  if (FindName(file_system, directory, parent->name) != nullptr)
    return Fail(Errno::kEEXIST);
  if (write_error != Errno::kOk) return Fail(write_error);
  const Errno error = CheckMayCreate(*caller.credentials, directory);
  if (error != Errno::kOk) return Fail(error);
  if (!file_system.traits().namespace_mutable) return Fail(Errno::kEPERM);

  // vfs_mkdir(): only permission bits and the sticky bit are the caller's to
  // set.
  const uint32_t permissions = operation.mode & (0777 | kSIsvtx);
  const NewInodeOwner owner =
      InitOwner(*caller.credentials, caller.session.umask(), directory,
                kSIfdir | permissions);
  const Timestamp now = Timestamp::Now();
  Inode::Init init;
  init.mode = owner.mode;
  init.uid = owner.uid;
  init.gid = owner.gid;
  init.ino = file_system.NextInodeNumber();
  init.nlink = 2;
  init.size = file_system.traits().directory_size_base;
  init.atime = init.mtime = init.ctime = init.btime = now;
  AddName(
      file_system, directory, parent->name,
      PinnedInode::Adopt(std::make_unique<Inode>(std::move(init)).release()),
      now);
  return Done();
}

}  // namespace vfsd::vfs
