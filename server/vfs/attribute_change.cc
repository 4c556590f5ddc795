#include "server/vfs/attribute_change.h"

#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/vfs/executor.h"
#include "server/vfs/namespace_generation.h"
#include "server/vfs/permission.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

namespace {

using Change = SetAttributesOperation;

// s_maxbytes of tmpfs: what fits a signed 64-bit offset.
constexpr int64_t kMaxBytes = INT64_MAX;

bool SetsTimes(const Change& change) {
  return change.atime.kind != TimeChange::Kind::kOmit ||
         change.mtime.kind != TimeChange::Kind::kOmit;
}

// setattr_should_drop_sgid(): a change of owner or content takes the
// set-group-id bit away where it means execution, and from who could not set
// it.
bool LosesSgid(const Credentials& credentials, const Inode& inode) {
  const uint32_t mode = inode.mode();
  if ((mode & kSIsgid) == 0) return false;
  return (mode & kSIxgrp) != 0 ||
         (!credentials.IsPrivileged() && !credentials.InGroup(inode.gid()));
}

// What is left of the set-id bits when somebody without privilege changes the
// content (file_remove_privs).
uint32_t WithoutPrivileges(const Credentials& credentials, const Inode& inode) {
  const uint32_t mode = inode.mode();
  if (credentials.IsPrivileged() || !inode.IsRegular()) return mode;
  uint32_t result = mode & ~kSIsuid;
  if (LosesSgid(credentials, inode)) result &= ~kSIsgid;
  return result;
}

bool IsValidTime(const TimeChange& time) {
  return time.kind != TimeChange::Kind::kSet ||
         time.nanoseconds < 1'000'000'000;
}

// Which files a change may be asked of, before permissions: the differing rules
// of truncate, chmod and their like.
Errno CheckKind(const Change& change, const Inode& inode, const File* file,
                bool by_handle) {
  if (change.size.has_value()) {
    if (by_handle) {
      if (!inode.IsRegular() || !file->HasMode(kFileWrite))
        return Errno::kEINVAL;
    } else {
      if (inode.IsDirectory()) return Errno::kEISDIR;
      if (!inode.IsRegular()) return Errno::kEINVAL;
    }
  }
  if (!IsValidTime(change.atime) || !IsValidTime(change.mtime))
    return Errno::kEINVAL;
  return Errno::kOk;
}

// setattr_prepare() and what notify_change() checks before it.
Errno CheckAllowed(const Change& change, const Credentials& credentials,
                   const Inode& inode) {
  const bool owner = IsOwnerOrPrivileged(credentials, inode);
  // No file system of ours keeps a symbolic link's mode.
  if (change.mode.has_value() && inode.IsSymlink()) return Errno::kEOPNOTSUPP;
  const bool touch = change.atime.kind == TimeChange::Kind::kNow &&
                     change.mtime.kind == TimeChange::Kind::kNow;
  if (touch && !owner) {
    const Errno error = CheckPermission(credentials, inode, kMayWrite);
    if (error != Errno::kOk) return error;
  }
  if (!credentials.IsPrivileged()) {
    if (change.uid.has_value() &&
        (credentials.uid() != inode.uid() || *change.uid != inode.uid())) {
      return Errno::kEPERM;
    }
    if (change.gid.has_value() &&
        (credentials.uid() != inode.uid() ||
         (*change.gid != inode.gid() && !credentials.InGroup(*change.gid)))) {
      return Errno::kEPERM;
    }
  }
  if (change.mode.has_value() && !owner) return Errno::kEPERM;
  // A change of owner takes set-id bits away, which is a change of mode.
  const uint32_t mode = inode.mode();
  const bool loses_bits =
      change.changes_owner && !inode.IsDirectory() &&
      ((mode & kSIsuid) != 0 || LosesSgid(credentials, inode));
  if (loses_bits && !owner) return Errno::kEPERM;
  if (SetsTimes(change) && !touch && !owner) return Errno::kEPERM;
  return Errno::kOk;
}

// setattr_copy() and the file system's part, if `allowed()` says kOk. It is
// asked with the attributes locked: who is about to lose the file must not
// change it afterwards (the kernel's inode lock).
// content_time: a change of size counts as one of the content even if the size
// stays (ftruncate(2), O_TRUNC).
template <typename Allowed>
Errno Apply(const Change& change, const Credentials& credentials, Inode& inode,
            bool content_time, Allowed&& allowed) {
  bool changes_content = false;
  const Timestamp now = Timestamp::Now();
  // Walks decide on mode and owner: they see all of the change or nothing.
  const bool changes_permissions =
      change.mode.has_value() || change.changes_owner;
  const NamespaceChange namespace_change(changes_permissions &&
                                         inode.IsDirectory());
  if (changes_permissions) inode.walk_lock.WriteLock();
  const absl::Cleanup unlock = [&] {
    if (changes_permissions) inode.walk_lock.WriteUnlock();
  };
  const sync::SeqLockWriter writer(inode.attribute_lock);
  const Errno error = allowed();
  if (error != Errno::kOk) return error;
  if (change.changes_owner) {
    uint32_t mode = inode.mode();
    if (!inode.IsDirectory()) {
      mode &= ~kSIsuid;
      if (LosesSgid(credentials, inode)) mode &= ~kSIsgid;
    }
    inode.SetOwner(change.uid.value_or(inode.uid()),
                   change.gid.value_or(inode.gid()));
    inode.SetPermissions(mode);
  }
  if (change.size.has_value()) {
    const auto size = static_cast<uint64_t>(*change.size);
    inode.SetPermissions(WithoutPrivileges(credentials, inode));
    changes_content = size != inode.size() || content_time;
    if (changes_content) inode.SetModifyTime(now);
    if (size < inode.size()) inode.ClearFlag(kInodeAllocated);
    inode.SetSize(size);
  }
  if (change.mode.has_value()) {
    uint32_t mode = *change.mode & kPermissionBits;
    // Only members of the group may set its id, and the privileged.
    if (!credentials.IsPrivileged() && !credentials.InGroup(inode.gid()))
      mode &= ~kSIsgid;
    inode.SetPermissions(mode);
  }
  const auto time_of = [now](const TimeChange& time) {
    return time.kind == TimeChange::Kind::kNow
               ? now
               : Timestamp(time.seconds, time.nanoseconds);
  };
  if (change.atime.kind != TimeChange::Kind::kOmit)
    inode.SetAccessTime(time_of(change.atime));
  if (change.mtime.kind != TimeChange::Kind::kOmit)
    inode.SetModifyTime(time_of(change.mtime));
  // A truncate(2) that changes no size changes no time.
  const bool only_size = change.size.has_value() && !change.mode.has_value() &&
                         !change.changes_owner && !SetsTimes(change);
  if (!only_size || changes_content) inode.SetChangeTime(now);
  return Errno::kOk;
}

Errno ChangeAttributes(const Change& change, const Credentials& credentials,
                       const PathView& path, const File* file) {
  const bool by_handle = file != nullptr;
  Inode& inode = *path.inode;
  Errno error = CheckKind(change, inode, file, by_handle);
  if (error != Errno::kOk) return error;
  // truncate(2) asks for permission before the mount, unlike the others.
  if (change.size.has_value() && !by_handle) {
    error = CheckPermission(credentials, inode, kMayWrite);
    if (error != Errno::kOk) return error;
  }
  error = path.mount->WantWrite();
  if (error != Errno::kOk) return error;
  const absl::Cleanup drop_write = [&path] { path.mount->DropWrite(); };
  return Apply(change, credentials, inode, /*content_time=*/by_handle,
               [&] { return CheckAllowed(change, credentials, inode); });
}

bool ChangesNothing(const Change& change) {
  return !change.mode.has_value() && !change.changes_owner &&
         !change.size.has_value() && !SetsTimes(change);
}

// fchmod() and its like: the handle, which must not be O_PATH.
Result<Done> ChangeByHandle(Vfs& vfs, const Caller& caller,
                            const Change& operation) {
  const Result<File*> pinned = caller.session.files().Pin(*operation.dir);
  if (!pinned.has_value()) return Fail(pinned.error());
  File& file = **pinned;
  const absl::Cleanup put = [&vfs, &file] { vfs.files.Put(&file); };
  if (file.HasMode(kFilePathOnly)) return Fail(Errno::kEBADF);
  const Errno error =
      ChangeAttributes(operation, *caller.credentials, file.path(), &file);
  if (error != Errno::kOk) return Fail(error);
  return Done();
}

}  // namespace

Result<Done> SetAttributes(Vfs& vfs, const Caller& caller,
                           const SetAttributesOperation& operation) {
  // utimensat(2) with nothing to set does not even look at the path.
  if (ChangesNothing(operation)) return Done();
  constexpr uint32_t kFlags = kAtSymlinkNofollow | kAtEmptyPath;
  if ((operation.flags & ~kFlags) != 0) return Fail(Errno::kEINVAL);
  if (operation.size.has_value() && *operation.size < 0)
    return Fail(Errno::kEINVAL);
  if (operation.size.has_value() && *operation.size > kMaxBytes)
    return Fail(Errno::kEFBIG);

  if (!operation.path.has_value() && operation.dir.has_value()) {
    if (operation.flags == 0) return ChangeByHandle(vfs, caller, operation);
    // utimensat(2) goes by the handle then, which takes no flags.
    if (SetsTimes(operation)) return Fail(Errno::kEINVAL);
  }
  const Errno path_error = CheckPathArgument(
      operation.path, /*empty_allowed=*/(operation.flags & kAtEmptyPath) != 0);
  if (path_error != Errno::kOk) return Fail(path_error);
  const WalkRequest request{
      vfs,
      caller.session,
      *caller.credentials,
      operation.dir,
      *operation.path,
      (operation.flags & kAtSymlinkNofollow) == 0 ? kWalkFollow : 0U};
  const Result<PinnedPath> path = Walker(request).Resolve();
  if (!path.has_value()) return Fail(path.error());
  const Errno error =
      ChangeAttributes(operation, *caller.credentials, path->view(), nullptr);
  if (error != Errno::kOk) return Fail(error);
  return Done();
}

void TruncateToEmpty(const Credentials& credentials, Inode& inode) {
  SetAttributesOperation change;
  change.size = 0;
  Apply(change, credentials, inode, /*content_time=*/true,
        [] { return Errno::kOk; });
}

}  // namespace vfsd::vfs
