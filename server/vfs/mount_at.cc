#include "server/vfs/mount_at.h"

#include <string>
#include <utility>

#include "server/vfs/root_session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {
namespace {

Result<PinnedPath> Find(Vfs& vfs, std::string_view path, uint32_t flags) {
  const Errno error = CheckPathArgument(path, /*empty_allowed=*/false);
  if (error != Errno::kOk) return Fail(error);
  RootSession root(vfs);
  const WalkRequest request{vfs, root.session(), *root.session().credentials(),
                            {},  path,           kWalkFollow | flags,
                            0};
  return Walker(request).Resolve();
}

// The mount whose root is at `path`.
Result<PinnedPath> FindMount(Vfs& vfs, std::string_view path) {
  Result<PinnedPath> found = Find(vfs, path, 0);
  if (found.has_value() && &found->inode() != found->mount().root()) {
    return Fail(Errno::kEINVAL);
  }
  return found;
}

Errno Mounted(const Result<Mount*>& mount) {
  return mount.has_value() ? Errno::kOk : mount.error();
}

}  // namespace

Errno MountAt(Vfs& vfs, std::string_view path,
              std::shared_ptr<FileSystem> file_system, MountOptions options) {
  const Result<PinnedPath> at = Find(vfs, path, kWalkDirectory);
  if (!at.has_value()) return at.error();
  return Mounted(vfs.mounts.MountOn(std::move(file_system), at->mount(),
                                    PinnedInode::Share(at->inode()),
                                    std::string(path), options));
}

Errno BindAt(Vfs& vfs, std::string_view source, std::string_view path,
             MountOptions options) {
  // do_loopback(), which comes to the kind of the files last.
  const Result<PinnedPath> at = Find(vfs, path, 0);
  if (!at.has_value()) return at.error();
  if (source.empty()) return Errno::kEINVAL;
  const Result<PinnedPath> from = Find(vfs, source, 0);
  if (!from.has_value()) return from.error();
  // A bind mount is a copy of the mount that the source is in, of the same file
  // system: what that cannot do stays so.
  options.no_direct_io |= !from->mount().direct_io();
  options.read_only |= from->mount().read_only();
  return Mounted(
      vfs.mounts.MountOn(from->mount().shared_file_system(), at->mount(),
                         PinnedInode::Share(at->inode()), std::string(path),
                         options, PinnedInode::Share(from->inode())));
}

Errno RemountAt(Vfs& vfs, std::string_view path, bool read_only) {
  const Result<PinnedPath> at = FindMount(vfs, path);
  if (!at.has_value()) return at.error();
  return vfs.mounts.SetReadOnly(at->mount(), read_only);
}

Errno UnmountAt(Vfs& vfs, std::string_view path, bool lazy) {
  uint64_t id;
  {
    const Result<PinnedPath> at = FindMount(vfs, path);
    if (!at.has_value()) return at.error();
    id = at->mount().id();
    // Our own reference would make it busy. Without it somebody else may
    // unmount it, and another mount may get its address: but never its id.
  }
  return vfs.mounts.UnmountById(id, lazy);
}

}  // namespace vfsd::vfs
