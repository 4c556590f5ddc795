#include "server/vfs/stat.h"

#include "server/vfs/executor.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

namespace {

constexpr uint32_t kStatFlags =
    kAtSymlinkNofollow | kAtNoAutomount | kAtEmptyPath | kAtStatxSyncType;

// vfs_statx_fd(): straight from the handle.
Result<Statx> StatHandle(Vfs& vfs, const Session& session, Handle handle,
                         uint32_t mask) {
  const sync::RcuReadSection section;
  const auto file = session.files().Look(handle);
  if (!file.has_value()) return Fail(file.error());
  return FillStatx(vfs, file->path, mask);
}

}  // namespace

Result<Statx> FillStatx(const Vfs& vfs, const PathView& path, uint32_t mask) {
  const Inode& inode = *path.inode;
  // The one object that is returned, from here to the executor's caller: a
  // Statx is too large to be copied on the way.
  Result<Statx> result;
  if (SecurityHooks* const hooks = vfs.files.hooks(); hooks != nullptr) {
    const Errno error = hooks->InodeGetattr(inode);
    if (error != Errno::kOk) {
      result = Fail(error);
      return result;
    }
  }
  const Mount& mount = *path.mount;
  const FileSystem& file_system = mount.file_system();
  const FileSystemTraits& traits = file_system.traits();
  const InodeAttributes attributes = inode.ReadAttributes();

  Statx& statx = *result;
  statx.mask = kStatxBasicStats;
  // Asking for either change time gives both; asking for none gives none, so
  // that the kernel need not switch to fine-grained times.
  if ((mask & (kStatxMtime | kStatxCtime)) == 0)
    statx.mask &= ~(kStatxMtime | kStatxCtime);
  statx.blksize = traits.block_size;
  statx.attributes_mask = traits.attributes_mask | kStatxAttrAutomount |
                          kStatxAttrDax | kStatxAttrMountRoot;
  if (path.inode == mount.root()) statx.attributes |= kStatxAttrMountRoot;
  statx.nlink = attributes.nlink;
  statx.uid = attributes.uid;
  statx.gid = attributes.gid;
  statx.mode = attributes.mode;
  statx.ino = inode.ino();
  statx.size = attributes.size;
  if (attributes.allocated) {
    constexpr uint64_t kSectorBytes = 512;
    const uint64_t blocks =
        (attributes.size + traits.block_size - 1) / traits.block_size;
    statx.blocks = blocks * (traits.block_size / kSectorBytes);
  }
  statx.atime = attributes.atime;
  statx.mtime = attributes.mtime;
  statx.ctime = attributes.ctime;
  if ((mask & kStatxBtime) != 0 && traits.has_birth_time) {
    statx.mask |= kStatxBtime;
    statx.btime = inode.btime();
  }
  const uint64_t device = inode.device();
  statx.rdev_major = DeviceMajor(device);
  statx.rdev_minor = DeviceMinor(device);
  statx.dev_major = file_system.device_major();
  statx.dev_minor = file_system.device_minor();
  if ((mask & kStatxMntIdUnique) != 0) {
    statx.mask |= kStatxMntIdUnique;
    statx.mnt_id = mount.unique_id();
  } else {
    statx.mask |= kStatxMntId;
    statx.mnt_id = mount.id();
  }
  return result;
}

Result<Statx> StatFile(Vfs& vfs, const Caller& caller,
                       const StatOperation& operation) {
  if ((operation.mask & kStatxReserved) != 0) return Fail(Errno::kEINVAL);
  if ((operation.flags & kAtStatxSyncType) == kAtStatxSyncType)
    return Fail(Errno::kEINVAL);
  // Also on the fast path, where the kernel overlooks it.
  if ((operation.flags & ~kStatFlags) != 0) return Fail(Errno::kEINVAL);

  const bool empty_allowed = (operation.flags & kAtEmptyPath) != 0;
  const bool empty =
      empty_allowed && (!operation.path.has_value() || operation.path->empty());
  if (empty && operation.dir.has_value()) {
    if (vfs.fast_paths.enabled(FastPath::kEmptyPath)) {
      vfs.fast_paths.CountHit(FastPath::kEmptyPath);
      return StatHandle(vfs, caller.session, *operation.dir, operation.mask);
    }
    vfs.fast_paths.CountGeneral(FastPath::kEmptyPath);
  }
  if (!empty) {
    const Errno error = CheckPathArgument(operation.path, empty_allowed);
    if (error != Errno::kOk) return Fail(error);
  }
  uint32_t flags = 0;
  if ((operation.flags & kAtSymlinkNofollow) == 0) flags |= kWalkFollow;
  const WalkRequest request{vfs,
                            caller.session,
                            *caller.credentials,
                            operation.dir,
                            empty ? std::string_view() : *operation.path,
                            flags};
  return Walker(request).Look([&](const PathView& path) {
    return FillStatx(vfs, path, operation.mask);
  });
}

}  // namespace vfsd::vfs
