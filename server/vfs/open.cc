#include "server/vfs/open.h"

#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "server/vfs/attribute_change.h"
#include "server/vfs/executor.h"
#include "server/vfs/locked_steps.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/new_inode.h"
#include "server/vfs/path_walk.h"
#include "server/vfs/permission.h"
#include "server/vfs/session.h"
#include "server/vfs/synthetic_file.h"
#include "server/vfs/vfs.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

// build_open_flags(): what the flags ask for, once they are found to be legal.
struct FileOpener::OpenFlags {
  uint32_t flags = 0;   // O_*
  uint32_t wanted = 0;  // AccessBits on the file
  uint32_t mode = 0;    // for creation
  uint32_t walk = 0;    // WalkFlags
  bool temporary = false;

  bool creates() const { return (flags & kOCreat) != 0; }
  bool exclusive() const { return (flags & kOExcl) != 0; }
  bool path_only() const { return (flags & kOPath) != 0; }
  // It may make or truncate a file.
  bool changes() const {
    return temporary || (flags & (kOCreat | kOTrunc)) != 0;
  }

  static Result<OpenFlags> From(const OpenOperation& operation) {
    OpenFlags result;
    if (operation.resolve.has_value()) {
      const Errno error = CheckStrictly(operation);
      if (error != Errno::kOk) return Fail(error);
    }
    // openat(2) drops what it does not know, and what O_PATH does not use.
    result.flags = operation.flags & kOValid;
    if ((result.flags & kOPath) != 0) {
      result.flags &= kPathOnlyFlags;
    }
    const bool creates = (result.flags & (kOCreat | kOTmpfileBit)) != 0;
    if (creates) result.mode = operation.mode & kPermissionBits;
    if ((result.flags & (kODirectory | kOCreat)) == (kODirectory | kOCreat)) {
      return Fail(Errno::kEINVAL);
    }
    static constexpr uint32_t kWanted[] = {
        kMayRead, kMayWrite, kMayRead | kMayWrite, kMayRead | kMayWrite};
    result.wanted = kWanted[result.flags & kOAccMode];
    if ((result.flags & kOTmpfileBit) != 0) {
      if ((result.flags & kODirectory) == 0 ||
          (result.wanted & kMayWrite) == 0) {
        return Fail(Errno::kEINVAL);
      }
      result.temporary = true;
    }
    if (result.path_only()) result.wanted = 0;
    if ((result.flags & kOTrunc) != 0) result.wanted |= kMayWrite;
    if (result.creates() && result.exclusive()) result.flags |= kONofollow;
    if ((result.flags & kONofollow) == 0) result.walk |= kWalkFollow;
    if ((result.flags & kODirectory) != 0) result.walk |= kWalkDirectory;
    if (result.creates()) result.walk |= kWalkCreate;
    const bool cached_only =
        (operation.resolve.value_or(0) & kResolveCached) != 0;
    if (cached_only &&
        (result.flags & (kOTrunc | kOCreat | kOTmpfileBit)) != 0) {
      return Fail(Errno::kEAGAIN);
    }
    return result;
  }

 private:
  // What O_PATH leaves of the flags.
  static constexpr uint32_t kPathOnlyFlags =
      kODirectory | kONofollow | kOPath | kOCloexec;

  // openat2(2) refuses what openat(2) overlooks.
  static Errno CheckStrictly(const OpenOperation& operation) {
    const uint64_t resolve = *operation.resolve;
    constexpr uint64_t kScopes = kResolveBeneath | kResolveInRoot;
    const bool legal = (operation.flags & ~kOValid) == 0 &&
                       (resolve & ~kResolveValid) == 0 &&
                       (resolve & kScopes) != kScopes &&
                       ((operation.flags & kOPath) == 0 ||
                        (operation.flags & ~kPathOnlyFlags) == 0);
    const bool creates = (operation.flags & (kOCreat | kOTmpfileBit)) != 0;
    const bool legal_mode = creates ? (operation.mode & ~kPermissionBits) == 0
                                    : operation.mode == 0;
    return legal && legal_mode ? Errno::kOk : Errno::kEINVAL;
  }
};

Result<Handle> FileOpener::Run(const OpenOperation& operation) {
  const Result<OpenFlags> flags = OpenFlags::From(operation);
  if (!flags.has_value()) return Fail(flags.error());
  const Errno path_error =
      CheckPathArgument(operation.path, /*empty_allowed=*/false);
  if (path_error != Errno::kOk) return Fail(path_error);

  // Slot and file come before the walk, as in the kernel: EMFILE and ENFILE
  // beat what is wrong with the path. Where nothing would have to be undone, it
  // is enough that there is a slot now: if there is none any more when the file
  // is open, that is EMFILE too, of a later moment.
  FileTable& table = caller_.session.files();
  std::optional<FileTable::Slot> slot;
  if (flags->changes()) {
    const Result<FileTable::Slot> reserved = table.Reserve();
    if (!reserved.has_value()) return Fail(reserved.error());
    slot = *reserved;
  } else {
    const Errno error = table.CheckRoom();
    if (error != Errno::kOk) return Fail(error);
  }
  const Result<File*> file =
      vfs_.files.AllocateEmpty(flags->flags, caller_.credentials);
  if (!file.has_value()) {
    if (slot.has_value()) table.Cancel(*slot);
    return Fail(file.error());
  }
  Errno error = OpenPath(operation, *flags, **file);
  if (error == Errno::kOk) {
    if (caller_.credentials != caller_.session.credentials())
      (*file)->KeepOpener(caller_.credentials);
    if (slot.has_value()) return table.Install(*slot, *file);
    const Result<Handle> handle = table.Add(*file);
    if (handle.has_value()) return handle;
    error = handle.error();
  } else if (slot.has_value()) {
    table.Cancel(*slot);
  }
  GiveBack(*file);
  return Fail(error);
}

void FileOpener::GiveBack(File* file) {
  if (file->HasMode(kFileOpened)) {
    vfs_.files.Put(file);  // late: others may have seen it
  } else if (vfs_.fast_paths.enabled(FastPath::kReleaseEmpty)) {
    vfs_.fast_paths.CountHit(FastPath::kReleaseEmpty);
    vfs_.files.ReleaseEmpty(file);
  } else {
    vfs_.fast_paths.CountGeneral(FastPath::kReleaseEmpty);
    vfs_.files.Put(file);
  }
}

Errno FileOpener::OpenPath(const OpenOperation& operation,
                           const OpenFlags& flags, File& file) {
  const WalkRequest request{vfs_,
                            caller_.session,
                            *caller_.credentials,
                            operation.dir,
                            *operation.path,
                            flags.walk,
                            operation.resolve.value_or(0)};
  if (flags.temporary) return OpenTemporary(request, flags, file);
  if (flags.creates()) return OpenExistingOrCreate(request, flags, file);
  Result<PinnedPath> path = Walker(request).Resolve();
  if (!path.has_value()) return path.error();
  // do_o_path() uses vfs_open(): it keeps its own reference.
  if (flags.path_only()) return Open(std::as_const(*path), file);
  return Finish(std::move(*path), nullptr, flags, /*created=*/false, file);
}

Errno FileOpener::OpenExistingOrCreate(const WalkRequest& request,
                                       const OpenFlags& flags, File& file) {
  // open_last_lookups() and lookup_open(). Always with locks: who creates must
  // hold the directory's mutex over lookup and creation.
  LockedSteps steps;
  PathWalk<LockedSteps> walk(request, steps);
  StepOutcome outcome = walk.ToParent();
  for (;;) {
    if (!outcome.ok()) return outcome.error();
    if (walk.last_type() == LastType::kName) {
      if (walk.last_trailing_slash()) return Errno::kEISDIR;
      Mount& mount = *steps.here().mount;
      Inode& directory = *steps.here().inode;
      const Errno write_error = mount.WantWrite();
      const absl::Cleanup drop_write = [&mount, write_error] {
        if (write_error == Errno::kOk) mount.DropWrite();
      };
      PinnedInode created;
      {
        absl::MutexLock lock(&directory.directory().mu);
        outcome = steps.ChildLocked(walk.last());
        if (!outcome.ok()) {
          if (outcome.error() != Errno::kENOENT ||
              directory.HasFlag(kInodeDead)) {
            return outcome.error();
          }
          // The lookup of a name that is not there fails, as procfs's.
          FileSystem& file_system = mount.file_system();
          if (!file_system.traits().namespace_mutable) return Errno::kENOENT;
          if (write_error != Errno::kOk) return write_error;
          const Errno error = CheckMayCreate(*caller_.credentials, directory);
          if (error != Errno::kOk) return error;
          const Timestamp now = Timestamp::Now();
          PinnedInode inode =
              NewInode(file_system, directory, caller_,
                       {.mode = kSIfreg | flags.mode, .now = now});
          created = PinnedInode::Share(*inode);
          AddName(file_system, directory, walk.last(), std::move(inode), now);
        }
      }
      if (created) {
        PinnedPath path = PinnedPath::Share({&mount, created.get()});
        return Finish(std::move(path), nullptr, flags, /*created=*/true, file);
      }
    }
    // The directory, for may_create_in_sticky, kept over the step.
    const PinnedPath directory = PinnedPath::Share(steps.here());
    bool link = false;
    outcome = walk.StepLast(link);
    if (!outcome.ok()) {
      // Removed between the look and the step: look again.
      if (outcome.error() == Errno::kENOENT &&
          walk.last_type() == LastType::kName &&
          !directory.inode().HasFlag(kInodeDead)) {
        outcome = StepOutcome::Ok();
        continue;
      }
      return outcome.error();
    }
    if (link) {
      outcome = walk.ToParentAgain();
      continue;
    }
    outcome = walk.Complete();
    if (!outcome.ok()) return outcome.error();
    return Finish(steps.TakeHere(), &directory.inode(), flags,
                  /*created=*/false, file);
  }
}

Errno FileOpener::OpenTemporary(const WalkRequest& request,
                                const OpenFlags& flags, File& file) {
  // vfs_tmpfile(): an inode without a name.
  Result<PinnedPath> directory = Walker(request).Resolve();
  if (!directory.has_value()) return directory.error();
  Mount& mount = directory->mount();
  Errno error = mount.WantWrite();
  if (error != Errno::kOk) return error;
  const absl::Cleanup drop_write = [&mount] { mount.DropWrite(); };
  error = CheckPermission(*caller_.credentials, directory->inode(),
                          kMayWrite | kMayExec);
  if (error != Errno::kOk) return error;
  FileSystem& file_system = mount.file_system();
  if (!file_system.traits().namespace_mutable) return Errno::kEOPNOTSUPP;
  const PinnedInode inode = NewInode(
      file_system, directory->inode(), caller_,
      {.mode = kSIfreg | flags.mode, .now = Timestamp::Now(), .named = false});
  if (!flags.exclusive()) inode->SetFlag(kInodeLinkable);
  PinnedPath path = PinnedPath::Share({&mount, inode.get()});
  return Finish(std::move(path), nullptr, flags, /*created=*/true, file);
}

Errno FileOpener::MayOpen(const PathView& path, const OpenFlags& flags,
                          uint32_t wanted, bool& truncate) {
  const Inode& inode = *path.inode;
  switch (inode.mode() & kSIfmt) {
    case kSIflnk:
      return Errno::kELOOP;
    case kSIfdir:
      if ((wanted & kMayWrite) != 0) return Errno::kEISDIR;
      break;
    case kSIfreg:
      break;
    default:  // O_TRUNC means nothing to devices, fifos and sockets
      truncate = false;
  }
  const Errno error = CheckPermission(*caller_.credentials, inode, wanted);
  if (error != Errno::kOk) return error;
  if ((flags.flags & kONoatime) != 0 &&
      !IsOwnerOrPrivileged(*caller_.credentials, inode)) {
    return Errno::kEPERM;
  }
  return Errno::kOk;
}

Errno FileOpener::Finish(PinnedPath&& path, const Inode* directory,
                         const OpenFlags& flags, bool created, File& file) {
  const Inode& inode = path.inode();
  if (flags.creates() && !created) {
    if (flags.exclusive()) return Errno::kEEXIST;
    if (inode.IsDirectory()) return Errno::kEISDIR;
    if (directory != nullptr) {
      const Errno error = CheckCreateInSticky(
          vfs_.options(), *caller_.credentials, *directory, inode);
      if (error != Errno::kOk) return error;
    }
  }
  // The mount, referenced for itself: after the open the walk's reference is no
  // longer ours, but the write access is to be given back.
  Mount* write_mount = nullptr;
  const absl::Cleanup drop_write = [&write_mount] {
    if (write_mount == nullptr) return;
    write_mount->DropWrite();
    write_mount->Put();
  };
  bool truncate = false;
  if (!created && (flags.flags & kOTrunc) != 0 && inode.IsRegular()) {
    const Errno error = path.mount().WantWrite();
    if (error != Errno::kOk) return error;
    write_mount = &path.mount();
    write_mount->Get();
    truncate = true;
  }
  Errno error =
      MayOpen(path.view(), flags, created ? 0 : flags.wanted, truncate);
  if (error != Errno::kOk) return error;

  if (vfs_.fast_paths.enabled(FastPath::kOpenConsume)) {
    vfs_.fast_paths.CountHit(FastPath::kOpenConsume);
    error = Open(std::move(path), file);
  } else {
    vfs_.fast_paths.CountGeneral(FastPath::kOpenConsume);
    error = Open(std::as_const(path), file);
    path.Reset();
  }
  if (error != Errno::kOk) return error;
  if (SecurityHooks* const hooks = vfs_.files.hooks(); hooks != nullptr) {
    error = hooks->FilePostOpen(file);
    if (error != Errno::kOk) return error;
  }
  if (truncate) TruncateToEmpty(*caller_.credentials, file.inode());
  return Errno::kOk;
}

Errno FileOpener::Open(PinnedPath&& path, File& file) {
  const Errno error = DoOpen(std::move(path), file);
  if (error == Errno::kOk && !file.HasMode(kFilePathOnly))
    vfs_.files.CountOpenEvent();
  return error;
}

Errno FileOpener::Open(const PinnedPath& path, File& file) {
  return Open(PinnedPath::Share(path.view()), file);
}

namespace {

// fifo_open(), but that it never waits for the other end.
Errno OpenFifo(Inode& inode, uint32_t access, uint32_t flags) {
  if (access == 0) return Errno::kEINVAL;
  if ((access & kFileRead) != 0) {
    inode.AddFifoReaders(1);
  } else if ((flags & kONonblock) != 0 && inode.FifoReaders() == 0) {
    return Errno::kENXIO;
  }
  return Errno::kOk;
}

}  // namespace

Errno FileOpener::DoOpen(PinnedPath&& path, File& file) {
  file.SetPath(std::move(path));
  const auto set_mode = [&file](uint32_t bits) {
    file.mode_.store(file.mode() | bits, std::memory_order_relaxed);
  };
  if ((file.flags() & kOPath) != 0) {
    set_mode(kFilePathOnly | kFileOpened);
    return Errno::kOk;
  }
  const PathView at = file.path();
  Inode& inode = *at.inode;
  Mount& mount = *at.mount;
  // An early error: the file gives back what it took over, and is EMPTY again.
  const auto fail = [&](Errno error) {
    if (file.HasMode(kFileWriter)) mount.DropWrite();
    file.mode_.store(
        file.mode() & ~uint32_t{kFileWriter | kFileRead | kFileWrite},
        std::memory_order_relaxed);
    file.TakePath().Reset();
    return error;
  };
  static constexpr uint32_t kAccessModes[] = {kFileRead, kFileWrite,
                                              kFileRead | kFileWrite, 0};
  const uint32_t access = kAccessModes[file.flags() & kOAccMode];
  const uint32_t type = inode.mode() & kSIfmt;
  // get_file_access(): special files are written on read-only mounts too.
  if ((access & kFileWrite) != 0 && (type == kSIfreg || type == kSIfdir)) {
    const Errno error = mount.WantWrite();
    if (error != Errno::kOk) return fail(error);
    set_mode(kFileWriter);
  }
  set_mode(access);
  if (inode.IsSynthetic()) {
    const Errno error = inode.synthetic_file().Open(file);
    if (error != Errno::kOk) return fail(error);
  } else if (type == kSIfsock || type == kSIfchr || type == kSIfblk) {
    return fail(Errno::kENXIO);  // no driver, and nobody listens
  } else if (type == kSIfifo) {
    const Errno error = OpenFifo(inode, access, file.flags());
    if (error != Errno::kOk) return fail(error);
  }
  set_mode(kFileOpened);
  // Late: the file has been opened, and is closed like one.
  if ((file.flags() & kODirect) != 0 &&
      (!mount.direct_io() || type != kSIfreg || inode.IsSynthetic())) {
    return Errno::kEINVAL;
  }
  return Errno::kOk;
}

}  // namespace vfsd::vfs
