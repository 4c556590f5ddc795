#include "server/vfs/directory_reader.h"

#include <algorithm>

#include "server/vfs/executor.h"
#include "server/vfs/permission.h"
#include "server/vfs/session.h"
#include "server/vfs/stat.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {
namespace {

constexpr uint32_t kMaxPageSize = 10'000;

// DT_*: the type bits, shifted (IFTODT).
uint8_t EntryType(uint32_t mode) {
  return static_cast<uint8_t>((mode & linux_abi::kSIfmt) >> 12);
}

// What a Stat of the entry would find: what is mounted on it, if anything.
PathView Covering(const Vfs& vfs, PathView entry) {
  while (entry.inode->HasFlag(kInodeMountPoint)) {
    Mount* const child = vfs.mounts.FindChild(entry.mount, entry.inode);
    if (child == nullptr) break;
    entry = {child, child->root()};
  }
  return entry;
}

Result<DirectoryPage> ReadPage(const Vfs& vfs, const PathView& directory,
                               const ReadDirectoryOperation& operation) {
  DirectoryPage page;
  Directory& names = directory.inode->directory();
  const uint32_t page_size =
      std::clamp<uint32_t>(operation.page_size, 1, kMaxPageSize);
  absl::ReaderMutexLock lock(&names.mu);
  if (directory.inode->HasFlag(kInodeDead)) return Fail(Errno::kENOENT);
  auto it = names.children.lower_bound(operation.cursor);
  for (; it != names.children.end() && page.entries.size() < page_size; ++it) {
    const Dentry& dentry = **it;
    DirectoryEntry& entry = page.entries.emplace_back();
    entry.name = dentry.name();
    entry.ino = dentry.inode().ino();
    entry.type = EntryType(dentry.inode().mode());
    if (!operation.with_attributes) continue;
    const sync::RcuReadSection section;
    const Result<Statx> statx = FillStatx(
        vfs, Covering(vfs, {directory.mount, &dentry.inode()}), operation.mask);
    if (!statx.has_value()) return Fail(statx.error());
    entry.attributes = *statx;
  }
  if (it != names.children.end()) page.next_cursor = (*it)->cookie();
  return page;
}

// The directory to read: by path, or an open handle's. keeps_access_time: the
// handle was opened with O_NOATIME.
Result<PinnedPath> FindDirectory(Vfs& vfs, const Caller& caller,
                                 const ReadDirectoryOperation& operation,
                                 bool& keeps_access_time) {
  keeps_access_time = false;
  const bool by_handle =
      operation.dir.has_value() &&
      (!operation.path.has_value() || operation.path->empty());
  if (by_handle) {
    uint32_t flags = 0;
    Result<PinnedPath> directory = caller.session.files().PinPath(
        *operation.dir, /*also_path_only=*/false, &flags);
    keeps_access_time = (flags & linux_abi::kONoatime) != 0;
    if (directory.has_value() && !directory->inode().IsDirectory())
      return Fail(Errno::kENOTDIR);
    return directory;
  }
  const bool root = !operation.path.has_value() || operation.path->empty();
  if (!root) {
    const Errno error =
        CheckPathArgument(operation.path, /*empty_allowed=*/false);
    if (error != Errno::kOk) return Fail(error);
  }
  const WalkRequest request{vfs,
                            caller.session,
                            *caller.credentials,
                            operation.dir,
                            root ? std::string_view("/") : *operation.path,
                            kWalkFollow | kWalkDirectory};
  Result<PinnedPath> directory = Walker(request).Resolve();
  if (!directory.has_value()) return directory;
  const Errno error =
      CheckPermission(*caller.credentials, directory->inode(), kMayRead);
  if (error != Errno::kOk) return Fail(error);
  return directory;
}

}  // namespace

Result<DirectoryPage> ReadDirectory(Vfs& vfs, const Caller& caller,
                                    const ReadDirectoryOperation& operation) {
  bool keeps_access_time;
  const Result<PinnedPath> directory =
      FindDirectory(vfs, caller, operation, keeps_access_time);
  if (!directory.has_value()) return Fail(directory.error());
  if (operation.with_attributes) {
    const Errno error =
        CheckPermission(*caller.credentials, directory->inode(), kMayExec);
    if (error != Errno::kOk) return Fail(error);
  }
  Result<DirectoryPage> page = ReadPage(vfs, directory->view(), operation);
  if (page.has_value() && !keeps_access_time &&
      !directory->mount().read_only()) {
    directory->inode().TouchAccessTime();
  }
  return page;
}

}  // namespace vfsd::vfs
