#include "tests/differential/kernel_runner.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "tests/differential/generator.h"

namespace vfsd::differential {
namespace {

// A descriptor that is never open: far above any limit.
constexpr int kNeverOpen = 0x7ffffff0;

// Newer than the C library's headers.
constexpr long kFchmodat2 = 452;

void Require(bool ok, std::string_view what) {
  if (ok) return;
  fmt::print(stderr, "differential: {}: {}\n", what, std::strerror(errno));
  std::abort();
}

int32_t ErrorOf(long result) { return result < 0 ? errno : 0; }
Outcome OutcomeOf(long result) {
  Outcome outcome;
  outcome.error = ErrorOf(result);
  return outcome;
}

const char* Pointer(const PathText& path) {
  return path.has_value() ? path->c_str() : nullptr;
}

Timestamp TimeOf(const statx_timestamp& time) {
  return Timestamp(time.tv_sec, time.tv_nsec);
}

vfs::Statx FromKernel(const struct statx& from) {
  vfs::Statx to;
  to.mask = from.stx_mask;
  to.blksize = from.stx_blksize;
  to.attributes = from.stx_attributes;
  to.attributes_mask = from.stx_attributes_mask;
  to.nlink = from.stx_nlink;
  to.uid = from.stx_uid;
  to.gid = from.stx_gid;
  to.mode = from.stx_mode;
  to.ino = from.stx_ino;
  to.size = from.stx_size;
  to.blocks = from.stx_blocks;
  to.atime = TimeOf(from.stx_atime);
  to.btime = TimeOf(from.stx_btime);
  to.ctime = TimeOf(from.stx_ctime);
  to.mtime = TimeOf(from.stx_mtime);
  to.rdev_major = from.stx_rdev_major;
  to.rdev_minor = from.stx_rdev_minor;
  to.dev_major = from.stx_dev_major;
  to.dev_minor = from.stx_dev_minor;
  to.mnt_id = from.stx_mnt_id;
  to.dio_mem_align = from.stx_dio_mem_align;
  to.dio_offset_align = from.stx_dio_offset_align;
  return to;
}

long RawStatx(int dir, const char* path, uint32_t flags, uint32_t mask,
              struct statx& result) {
  return syscall(SYS_statx, dir, path, flags, mask, &result);
}

// All entries of an open directory from its start on, but "." and "..".
int32_t ReadEntries(int descriptor, std::vector<ListedEntry>& entries) {
  // A seek to the start: what was read of it before does not count.
  if (lseek(descriptor, 0, SEEK_SET) < 0 && errno == EBADF) return EBADF;
  alignas(dirent64) char buffer[8192];
  for (;;) {
    const long size =
        syscall(SYS_getdents64, descriptor, buffer, sizeof(buffer));
    if (size < 0) return errno;
    if (size == 0) break;
    for (long at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      entries.push_back({std::string(name), entry->d_ino, entry->d_type});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const ListedEntry& a, const ListedEntry& b) {
              return a.name < b.name;
            });
  return 0;
}

}  // namespace

std::unique_ptr<KernelRunner> KernelRunner::Make(std::string& reason) {
  if (geteuid() != 0) {
    reason = "needs root for real user ids and mounts";
    return nullptr;
  }
  if (unshare(CLONE_NEWNS) != 0) {
    reason = fmt::format("needs a mount namespace of its own: {}",
                         std::strerror(errno));
    return nullptr;
  }
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    reason =
        fmt::format("cannot make mounts private: {}", std::strerror(errno));
    return nullptr;
  }
  const char* const base = std::getenv("TMPDIR");
  std::string mountpoint = fmt::format("{}/vfsd-differential-XXXXXX",
                                       base != nullptr ? base : "/tmp");
  if (mkdtemp(mountpoint.data()) == nullptr) {
    reason =
        fmt::format("cannot make {}: {}", mountpoint, std::strerror(errno));
    return nullptr;
  }
  if (mount("differential", mountpoint.c_str(), "tmpfs", 0, nullptr) != 0) {
    reason = fmt::format("cannot mount a tmpfs: {}", std::strerror(errno));
    rmdir(mountpoint.c_str());
    return nullptr;
  }
  umount2(mountpoint.c_str(), MNT_DETACH);
  const int outer_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  Require(outer_root >= 0, "open /");
  return std::unique_ptr<KernelRunner>(
      new KernelRunner(outer_root, std::move(mountpoint)));
}

KernelRunner::~KernelRunner() {
  rmdir(mountpoint_.c_str());
  close(outer_root_);
}

void KernelRunner::Begin(const Program& program) {
  actors_ = program.actors;
  oracle_ = program.oracle;
  current_actor_ = 0;
  const bool ramfs = program.oracle == Oracle::kRamfs;
  const std::string options = fmt::format("mode={:o}", program.root_mode);
  Require(mount("differential", mountpoint_.c_str(), ramfs ? "ramfs" : "tmpfs",
                0, options.c_str()) == 0,
          "mount");
  Require(chdir(mountpoint_.c_str()) == 0 && chroot(".") == 0, "chroot");
  umask(program.umask);
  // The limit is a bound on the numbers: so many free ones are below it.
  descriptor_limit_ = 0;
  for (uint32_t free = 0; free < kMaxHandles; ++descriptor_limit_) {
    if (fcntl(static_cast<int>(descriptor_limit_), F_GETFD) < 0) ++free;
  }
  LimitDescriptors();
}

void KernelRunner::LimitDescriptors() {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = descriptor_limit_;
  Require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

void KernelRunner::LiftDescriptorLimit() {
  rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  Require(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
}

std::string KernelRunner::End() {
  LiftDescriptorLimit();
  Become(Actor{});
  for (const auto& [handle, descriptor] : descriptors_) close(descriptor);
  descriptors_.clear();
  Require(fchdir(outer_root_) == 0 && chroot(".") == 0, "leave the chroot");
  umask(022);
  Require(umount2(mountpoint_.c_str(), MNT_DETACH) == 0, "umount");
  return "";
}

void KernelRunner::Become(const Actor& actor) {
  // The saved uid stays root's, which is the way back. A change away from
  // effective uid 0 takes the effective capabilities, the way back restores
  // them.
  Require(syscall(SYS_setresuid, 0, 0, 0) == 0, "setresuid");
  Require(syscall(SYS_setgroups, actor.groups.size(), actor.groups.data()) == 0,
          "setgroups");
  Require(syscall(SYS_setresgid, actor.gid, actor.gid, actor.gid) == 0,
          "setresgid");
  Require(syscall(SYS_setresuid, actor.uid, actor.uid, 0) == 0, "setresuid");
}

int KernelRunner::Descriptor(int handle) const {
  if (handle == kCwd) return AT_FDCWD;
  const auto it = descriptors_.find(handle);
  return it == descriptors_.end() ? kNeverOpen : it->second;
}

int KernelRunner::Directory(int handle) const { return Descriptor(handle); }

Outcome KernelRunner::Run(const Step& step) {
  if (step.actor != current_actor_) {
    Become(actors_[step.actor]);
    current_actor_ = step.actor;
  }
  const int dir = Directory(step.dir);
  const int dir2 = Directory(step.dir2);
  const char* const path = Pointer(step.path);
  const char* const path2 = Pointer(step.path2);
  switch (step.kind) {
    case Kind::kOpen:
    case Kind::kOpenHow:
      return Open(step);
    case Kind::kClose:
      return Close(step);
    case Kind::kStat:
      return Stat(step);
    case Kind::kAccess:
      return OutcomeOf(
          syscall(SYS_faccessat2, dir, path, step.mode, step.flags));
    case Kind::kRead:
      return Read(step);
    case Kind::kReadDirectory:
      return ReadDirectory(step);
    case Kind::kMakeDirectory:
      return OutcomeOf(syscall(SYS_mkdirat, dir, path, step.mode));
    case Kind::kMakeNode:
      return OutcomeOf(syscall(SYS_mknodat, dir, path, step.mode,
                               static_cast<unsigned>(makedev(
                                   step.device_major, step.device_minor))));
    case Kind::kMakeSymlink:
      return OutcomeOf(syscall(SYS_symlinkat, path2, dir, path));
    case Kind::kMakeLink:
      return OutcomeOf(syscall(SYS_linkat, dir, path, dir2, path2, step.flags));
    case Kind::kUnlink:
      return OutcomeOf(syscall(SYS_unlinkat, dir, path, step.flags));
    case Kind::kRename:
      return OutcomeOf(
          syscall(SYS_renameat2, dir, path, dir2, path2, step.flags));
    case Kind::kReadLink: {
      char buffer[4096];
      const long size =
          syscall(SYS_readlinkat, dir, path, buffer, sizeof(buffer));
      Outcome outcome = OutcomeOf(size);
      if (size > 0) outcome.text.assign(buffer, static_cast<size_t>(size));
      return outcome;
    }
    case Kind::kChangeMode:
    case Kind::kChangeOwner:
    case Kind::kTruncate:
    case Kind::kSetTimes:
      return SetAttributes(step);
    case Kind::kStatFileSystem:
      return StatFileSystem(step);
    case Kind::kMount:
    case Kind::kUnmount:
    case Kind::kRemount:
      return Mount(step);
  }
  std::abort();
}

Outcome KernelRunner::Open(const Step& step) {
  open_how how{};
  how.flags = step.flags;
  how.mode = step.mode;
  how.resolve = step.resolve;
  const long descriptor =
      step.kind == Kind::kOpenHow
          ? syscall(SYS_openat2, Directory(step.dir), Pointer(step.path), &how,
                    sizeof(how))
          : syscall(SYS_openat, Directory(step.dir), Pointer(step.path),
                    step.flags, step.mode);
  const Outcome outcome = OutcomeOf(descriptor);
  if (descriptor < 0) return outcome;
  // The number of an earlier handle: the later one has it from now on.
  const auto [it, is_new] =
      descriptors_.try_emplace(step.result, static_cast<int>(descriptor));
  if (!is_new) {
    close(it->second);
    it->second = static_cast<int>(descriptor);
  }
  return outcome;
}

Outcome KernelRunner::Close(const Step& step) {
  const Outcome outcome = OutcomeOf(
      syscall(SYS_close, step.dir == kCwd ? -1 : Descriptor(step.dir)));
  descriptors_.erase(step.dir);
  return outcome;
}

Outcome KernelRunner::Stat(const Step& step) {
  struct statx result;
  Outcome outcome = OutcomeOf(RawStatx(Directory(step.dir), Pointer(step.path),
                                       step.flags, step.mask, result));
  // Deliberate difference unknown-stat-flags: the kernel overlooks them where
  // it takes the short way to the descriptor.
  constexpr uint32_t kKnown = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT |
                              AT_EMPTY_PATH | AT_STATX_SYNC_TYPE;
  const bool short_way = step.dir != kCwd &&
                         (step.flags & AT_EMPTY_PATH) != 0 &&
                         (!step.path.has_value() || step.path->empty());
  if (short_way && (step.flags & ~kKnown) != 0) {
    outcome.error = EINVAL;
    return outcome;
  }
  if (outcome.error == 0) outcome.statx = FromKernel(result);
  return outcome;
}

Outcome KernelRunner::Read(const Step& step) {
  const int descriptor = step.dir == kCwd ? -1 : Descriptor(step.dir);
  struct stat found;
  const int flags = fcntl(descriptor, F_GETFL);
  if (step.offset >= 0 && flags >= 0 && (flags & O_PATH) == 0 &&
      ((flags & O_ACCMODE) == O_RDONLY || (flags & O_ACCMODE) == O_RDWR) &&
      fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode)) {
    // Deliberate difference regular-content: not even asked, for a read of an
    // empty file would change its access time.
    Outcome outcome;
    outcome.error = EOPNOTSUPP;
    return outcome;
  }
  std::string buffer(static_cast<size_t>(step.size), '\0');
  const long count = syscall(SYS_pread64, descriptor, buffer.data(),
                             buffer.size(), step.offset);
  Outcome outcome = OutcomeOf(count);
  if (count > 0) outcome.count = count;
  return outcome;
}

Outcome KernelRunner::ReadDirectory(const Step& step) {
  Outcome outcome;
  const bool by_handle =
      step.dir != kCwd && (!step.path.has_value() || step.path->empty());
  if (by_handle) {
    outcome.error = ReadEntries(Descriptor(step.dir), outcome.entries);
  } else {
    const bool root = !step.path.has_value() || step.path->empty();
    // The service needs no handle for this.
    LiftDescriptorLimit();
    const long descriptor =
        syscall(SYS_openat, Directory(step.dir),
                root ? "/" : step.path->c_str(), O_RDONLY | O_DIRECTORY);
    LimitDescriptors();
    outcome.error = ErrorOf(descriptor);
    if (outcome.error != 0) return outcome;
    outcome.error = ReadEntries(static_cast<int>(descriptor), outcome.entries);
    close(static_cast<int>(descriptor));
  }
  if (outcome.error != 0) outcome.entries.clear();
  return outcome;
}

Outcome KernelRunner::SetAttributes(const Step& step) {
  const int dir = Directory(step.dir);
  const char* const path = Pointer(step.path);
  const bool by_handle = step.dir != kCwd && path == nullptr && step.flags == 0;
  switch (step.kind) {
    case Kind::kChangeMode:
      return OutcomeOf(
          by_handle ? syscall(SYS_fchmod, dir, step.mode)
                    : syscall(kFchmodat2, dir, path, step.mode, step.flags));
    case Kind::kChangeOwner:
      return OutcomeOf(by_handle ? syscall(SYS_fchown, dir, step.uid, step.gid)
                                 : syscall(SYS_fchownat, dir, path, step.uid,
                                           step.gid, step.flags));
    case Kind::kTruncate:
      return OutcomeOf(by_handle ? syscall(SYS_ftruncate, dir, step.size)
                                 : syscall(SYS_truncate, path, step.size));
    default: {
      const auto time = [](const TimeArgument& argument) {
        switch (argument.kind) {
          case TimeArgument::Kind::kOmit:
            return timespec{0, UTIME_OMIT};
          case TimeArgument::Kind::kNow:
            return timespec{0, UTIME_NOW};
          default:
            return timespec{argument.seconds, argument.nanoseconds};
        }
      };
      const timespec times[] = {time(step.atime), time(step.mtime)};
      return OutcomeOf(syscall(SYS_utimensat, dir, path, times,
                               static_cast<int>(step.flags)));
    }
  }
}

Outcome KernelRunner::StatFileSystem(const Step& step) {
  struct statfs result;
  Outcome outcome;
  if (step.dir == kCwd) {
    outcome = OutcomeOf(syscall(SYS_statfs, Pointer(step.path), &result));
  } else if (!step.path.has_value()) {
    outcome = OutcomeOf(syscall(SYS_fstatfs, Descriptor(step.dir), &result));
  } else {
    // There is no statfsat(2); a walk of O_PATH's is the same.
    LiftDescriptorLimit();
    const long descriptor =
        syscall(SYS_openat, Directory(step.dir), step.path->c_str(), O_PATH);
    outcome = OutcomeOf(descriptor);
    if (descriptor >= 0) {
      outcome = OutcomeOf(syscall(SYS_fstatfs, descriptor, &result));
      close(static_cast<int>(descriptor));
    }
    LimitDescriptors();
  }
  if (outcome.error == 0) {
    outcome.statfs = {static_cast<uint64_t>(result.f_type),
                      static_cast<uint64_t>(result.f_bsize),
                      static_cast<uint64_t>(result.f_namelen),
                      static_cast<uint64_t>(result.f_flags)};
  }
  return outcome;
}

Outcome KernelRunner::Mount(const Step& step) {
  Become(Actor{});
  const char* const path = Pointer(step.path);
  struct stat root;
  struct stat target;
  // Only a remount means the root.
  const bool at_root =
      stat("/", &root) == 0 && path != nullptr && stat(path, &target) == 0 &&
      root.st_dev == target.st_dev && root.st_ino == target.st_ino;
  Outcome outcome;
  if (step.kind == Kind::kRemount) {
    unsigned long flags = MS_REMOUNT | MS_BIND;
    if ((step.flags & 1) != 0) flags |= MS_RDONLY;
    outcome = OutcomeOf(mount(nullptr, path, nullptr, flags, nullptr));
  } else if (at_root) {
    outcome.error = kNotAsked;
  } else if (step.kind == Kind::kMount) {
    const char* const type = oracle_ == Oracle::kRamfs ? "ramfs" : "tmpfs";
    outcome = OutcomeOf(mount("differential", path, type, 0, "mode=755"));
  } else {
    outcome = OutcomeOf(umount2(path, static_cast<int>(step.flags)));
  }
  Become(actors_[current_actor_]);
  return outcome;
}

Listing KernelRunner::List() {
  Become(Actor{});
  LiftDescriptorLimit();
  Listing listing;
  struct statx result;
  const int root = open("/", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
  Require(root >= 0, "open the root");
  Require(RawStatx(root, "", AT_EMPTY_PATH, kListingMask, result) == 0,
          "statx");
  listing["/"] = FromKernel(result);
  ListBelow(root, "/", listing);
  close(root);
  for (const auto& [handle, descriptor] : descriptors_) {
    Require(RawStatx(descriptor, "", AT_EMPTY_PATH, kListingMask, result) == 0,
            "statx");
    listing[fmt::format("@{}", handle)] = FromKernel(result);
  }
  LimitDescriptors();
  Become(actors_[current_actor_]);
  return listing;
}

void KernelRunner::ListBelow(int directory, const std::string& path,
                             Listing& listing) {
  std::vector<ListedEntry> entries;
  Require(ReadEntries(directory, entries) == 0, "getdents64");
  for (const ListedEntry& entry : entries) {
    struct statx result;
    Require(RawStatx(directory, entry.name.c_str(), AT_SYMLINK_NOFOLLOW,
                     kListingMask, result) == 0,
            "statx");
    const std::string below = path + entry.name;
    listing[below] = FromKernel(result);
    if (!S_ISDIR(result.stx_mode)) continue;
    const int child =
        openat(directory, entry.name.c_str(),
               O_RDONLY | O_DIRECTORY | O_NOATIME | O_NOFOLLOW | O_CLOEXEC);
    Require(child >= 0, "openat");
    ListBelow(child, below + "/", listing);
    close(child);
  }
}

}  // namespace vfsd::differential
