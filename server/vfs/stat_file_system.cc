#include "server/vfs/stat_file_system.h"

#include "server/vfs/executor.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {
namespace {

// ST_* of statvfs(3), as statfs(2) reports them.
constexpr uint32_t kStReadOnly = 0x0001;
constexpr uint32_t kStValid = 0x0020;
constexpr uint32_t kStRelatime = 0x1000;

Statfs Fill(const Mount& mount) {
  const FileSystem& file_system = mount.file_system();
  Statfs statfs;
  statfs.type = file_system.traits().magic;
  statfs.block_size = file_system.traits().block_size;
  statfs.files = file_system.inode_count();
  statfs.name_max = linux_abi::kNameMax;
  statfs.flags = kStValid | kStRelatime | (mount.read_only() ? kStReadOnly : 0);
  statfs.dev_major = file_system.device_major();
  statfs.dev_minor = file_system.device_minor();
  return statfs;
}

}  // namespace

Result<Statfs> StatFilesystem(Vfs& vfs, const Caller& caller,
                              const StatFilesystemOperation& operation) {
  if (operation.dir.has_value() && !operation.path.has_value()) {
    // fstatfs(): any handle, O_PATH too.
    const sync::RcuReadSection section;
    const auto file = caller.session.files().Look(*operation.dir);
    if (!file.has_value()) return Fail(file.error());
    return Fill(*file->path.mount);
  }
  const Errno error =
      CheckPathArgument(operation.path, /*empty_allowed=*/false);
  if (error != Errno::kOk) return Fail(error);
  const WalkRequest request{vfs,           caller.session,  *caller.credentials,
                            operation.dir, *operation.path, kWalkFollow};
  return Walker(request).Look(
      [](const PathView& path) -> Result<Statfs> { return Fill(*path.mount); });
}

}  // namespace vfsd::vfs
