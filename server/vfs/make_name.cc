#include "server/vfs/make_name.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/vfs/executor.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/new_inode.h"
#include "server/vfs/permission.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

namespace {

// A free name in a directory whose mutex is held.
struct FreeName {
  Mount& mount;
  FileSystem& file_system;
  Inode& directory;
  std::string_view name;
};

// filename_create(): finds the parent, makes sure that the name is free, and
// calls make(const FreeName&) -> Errno with the directory locked. That the name
// exists comes before anything that forbids to make it.
template <typename Make>
Result<Done> MakeName(Vfs& vfs, const Caller& caller,
                      const DirectoryArgument& dir, const PathArgument& path,
                      bool is_directory, Make&& make) {
  const Errno path_error = CheckPathArgument(path, /*empty_allowed=*/false);
  if (path_error != Errno::kOk) return Fail(path_error);
  const WalkRequest request{vfs, caller.session, *caller.credentials, dir,
                            *path};
  const Result<WalkParent> parent = Walker(request).ResolveParent();
  if (!parent.has_value()) return Fail(parent.error());
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
  if (parent->trailing_slash && !is_directory) return Fail(Errno::kENOENT);
  // The lookup of a name that is not there fails, as procfs's.
  if (!file_system.traits().namespace_mutable) return Fail(Errno::kENOENT);
  if (write_error != Errno::kOk) return Fail(write_error);
  const Errno error =
      make(FreeName{mount, file_system, directory, parent->name});
  if (error != Errno::kOk) return Fail(error);
  return Done();
}

// may_linkat() (fs.protected_hardlinks): who may link what is not theirs.
Errno CheckMayLink(const VfsOptions& options, const Credentials& credentials,
                   const Inode& inode) {
  if (options.protected_hardlinks == 0 ||
      IsOwnerOrPrivileged(credentials, inode)) {
    return Errno::kOk;
  }
  const uint32_t mode = inode.mode();
  const bool special = !IsRegular(mode) || (mode & kSIsuid) != 0 ||
                       (mode & (kSIsgid | kSIxgrp)) == (kSIsgid | kSIxgrp);
  if (special ||
      CheckPermission(credentials, inode, kMayRead | kMayWrite) != Errno::kOk) {
    return Errno::kEPERM;
  }
  return Errno::kOk;
}

// What is to be linked: by path, or with AT_EMPTY_PATH the handle's file, which
// takes privilege (CAP_DAC_READ_SEARCH) or the ids of who opened it.
Result<PinnedPath> FindExisting(Vfs& vfs, const Caller& caller,
                                const MakeLinkOperation& operation) {
  const bool empty_allowed = (operation.flags & kAtEmptyPath) != 0;
  const Errno error = CheckPathArgument(operation.old_path, empty_allowed);
  if (error != Errno::kOk) return Fail(error);
  // The kernel asks that of any path that starts at the handle.
  if (empty_allowed && !operation.old_path->starts_with('/') &&
      operation.old_dir.has_value() && !caller.credentials->IsPrivileged()) {
    const Result<File*> file = caller.session.files().Pin(*operation.old_dir);
    if (!file.has_value()) return Fail(file.error());
    const absl::Cleanup put = [&] { vfs.files.Put(*file); };
    if (*(*file)->opener() != *caller.credentials) return Fail(Errno::kENOENT);
  }
  const WalkRequest request{
      vfs,
      caller.session,
      *caller.credentials,
      operation.old_dir,
      *operation.old_path,
      (operation.flags & kAtSymlinkFollow) != 0 ? kWalkFollow : 0U};
  return Walker(request).Resolve();
}

}  // namespace

Result<Done> MakeDirectory(Vfs& vfs, const Caller& caller,
                           const MakeDirectoryOperation& operation) {
  return MakeName(
      vfs, caller, operation.dir, operation.path, true,
      [&](const FreeName& at) {
        const Errno error = CheckMayCreate(*caller.credentials, at.directory);
        if (error != Errno::kOk) return error;
        // vfs_mkdir(): only permission bits and the sticky bit are the
        // caller's.
        const uint32_t mode = kSIfdir | (operation.mode & (0777 | kSIsvtx));
        const Timestamp now = Timestamp::Now();
        AddName(at.file_system, at.directory, at.name,
                NewInode(at.file_system, at.directory, caller,
                         {.mode = mode, .now = now}),
                now);
        return Errno::kOk;
      });
}

Result<Done> MakeNode(Vfs& vfs, const Caller& caller,
                      const MakeNodeOperation& operation) {
  uint32_t type = operation.mode & kSIfmt;
  switch (type) {
    case 0:
      type = kSIfreg;
      break;
    case kSIfreg:
    case kSIfchr:
    case kSIfblk:
    case kSIfifo:
    case kSIfsock:
      break;
    case kSIfdir:
      return Fail(Errno::kEPERM);
    default:
      return Fail(Errno::kEINVAL);
  }
  return MakeName(
      vfs, caller, operation.dir, operation.path, false,
      [&](const FreeName& at) {
        const Errno error = CheckMayCreate(*caller.credentials, at.directory);
        if (error != Errno::kOk) return error;
        // The whiteout device (0:0) is for everybody.
        const bool whiteout = type == kSIfchr && operation.device == 0;
        if (IsDevice(type) && !whiteout && !caller.credentials->IsPrivileged())
          return Errno::kEPERM;
        const Timestamp now = Timestamp::Now();
        const NewInodeRequest request{
            .mode = type | (operation.mode & kPermissionBits),
            .now = now,
            .device = IsDevice(type) ? operation.device : 0};
        AddName(at.file_system, at.directory, at.name,
                NewInode(at.file_system, at.directory, caller, request), now);
        return Errno::kOk;
      });
}

Result<Done> MakeSymlink(Vfs& vfs, const Caller& caller,
                         const MakeSymlinkOperation& operation) {
  const Errno target_error =
      CheckPathArgument(operation.target, /*empty_allowed=*/false);
  if (target_error != Errno::kOk) return Fail(target_error);
  return MakeName(
      vfs, caller, operation.dir, operation.path, false,
      [&](const FreeName& at) {
        const Errno error = CheckMayCreate(*caller.credentials, at.directory);
        if (error != Errno::kOk) return error;
        const Timestamp now = Timestamp::Now();
        const NewInodeRequest request{
            .mode = kSIflnk | 0777, .now = now, .target = *operation.target};
        AddName(at.file_system, at.directory, at.name,
                NewInode(at.file_system, at.directory, caller, request), now);
        return Errno::kOk;
      });
}

Result<Done> MakeLink(Vfs& vfs, const Caller& caller,
                      const MakeLinkOperation& operation) {
  if ((operation.flags & ~(kAtSymlinkFollow | kAtEmptyPath)) != 0)
    return Fail(Errno::kEINVAL);
  const Result<PinnedPath> existing = FindExisting(vfs, caller, operation);
  if (!existing.has_value()) return Fail(existing.error());
  Inode& inode = existing->inode();
  return MakeName(vfs, caller, operation.new_dir, operation.new_path, false,
                  [&](const FreeName& at) {
                    if (&existing->mount() != &at.mount) return Errno::kEXDEV;
                    Errno error =
                        CheckMayLink(vfs.options(), *caller.credentials, inode);
                    if (error != Errno::kOk) return error;
                    error = CheckMayCreate(*caller.credentials, at.directory);
                    if (error != Errno::kOk) return error;
                    if (inode.IsDirectory()) return Errno::kEPERM;
                    return TryAddHardLink(at.file_system, at.directory, at.name,
                                          inode, Timestamp::Now());
                  });
}

}  // namespace vfsd::vfs
