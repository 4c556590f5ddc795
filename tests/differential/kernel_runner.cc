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
#include <utility>

#include "tests/differential/generator.h"
#include "tests/differential/step_operation.h"

namespace vfsd::differential {
namespace {

// A descriptor that is never open: far above any limit.
constexpr int kNeverOpen = 0x7ffffff0;

// Newer than the C library's headers.
constexpr long kFchmodat2 = 452;

constexpr uint32_t kMountMask = STATX_INO | STATX_MNT_ID;

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
      entries.push_back({std::string(name), entry->d_ino, entry->d_type, {}});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const ListedEntry& a, const ListedEntry& b) {
              return a.name < b.name;
            });
  return 0;
}

// The same, with what a lstat of each entry says if there is a mask.
int32_t ReadDirectoryAt(int descriptor, uint32_t mask,
                        std::vector<ListedEntry>& entries) {
  struct stat found;
  const int flags = fcntl(descriptor, F_GETFL);
  if (mask != 0 && flags >= 0 && (flags & O_PATH) == 0 &&
      fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode) &&
      syscall(SYS_faccessat2, descriptor, "", X_OK,
              AT_EMPTY_PATH | AT_EACCESS) != 0) {
    // Deliberate difference listing-needs-search, of an empty directory too.
    return errno;
  }
  const int32_t error = ReadEntries(descriptor, entries);
  if (error != 0 || mask == 0) return error;
  for (ListedEntry& entry : entries) {
    struct statx result;
    Require(RawStatx(descriptor, entry.name.c_str(), AT_SYMLINK_NOFOLLOW, mask,
                     result) == 0,
            "statx of an entry");
    entry.attributes = FromKernel(result);
  }
  return 0;
}

}  // namespace

std::unique_ptr<KernelRunner> KernelRunner::Make(Differences& differences,
                                                 std::string& reason) {
  std::unique_ptr<KernelRunner> runner(new KernelRunner(differences));
  runner->root_->Run([&] { reason = runner->Enter(); });
  if (!reason.empty()) return nullptr;
  return runner;
}

std::string KernelRunner::Enter() {
  const auto because = [](std::string_view what) {
    return fmt::format("{}: {}", what, std::strerror(errno));
  };
  if (geteuid() != 0) return "needs root for real user ids and mounts";
  if (unshare(CLONE_NEWNS | CLONE_FILES | CLONE_FS) != 0)
    return because("needs a mount namespace of its own");
  // What the process has open is of no use here.
  syscall(SYS_close_range, 3U, ~0U, 0U);
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return because("cannot make mounts private");
  const char* const base = std::getenv("TMPDIR");
  mountpoint_ = fmt::format("{}/vfsd-differential-XXXXXX",
                            base != nullptr ? base : "/tmp");
  if (mkdtemp(mountpoint_.data()) == nullptr) {
    mountpoint_.clear();
    return because("cannot make a directory");
  }
  if (mount("differential", mountpoint_.c_str(), "tmpfs", 0, nullptr) != 0)
    return because("cannot mount a tmpfs");
  umount2(mountpoint_.c_str(), MNT_DETACH);
  outer_root_ = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  proc_ = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (outer_root_ < 0 || proc_ < 0) return because("cannot open / and /proc");
  return "";
}

KernelRunner::~KernelRunner() {
  others_.clear();
  root_->Run([this] {
    if (!mountpoint_.empty()) rmdir(mountpoint_.c_str());
  });
}

ActorThread& KernelRunner::ThreadOf(const Actor& actor) {
  if (actor == Actor{}) return *root_;
  std::unique_ptr<ActorThread>& thread = others_[actor];
  if (thread != nullptr) return *thread;
  root_->Run([&] { thread = std::make_unique<ActorThread>(); });
  thread->Run([&actor] {
    // By raw system calls: the C library would change all threads.
    Require(
        syscall(SYS_setgroups, actor.groups.size(), actor.groups.data()) == 0,
        "setgroups");
    Require(syscall(SYS_setresgid, actor.gid, actor.gid, actor.gid) == 0,
            "setresgid");
    Require(syscall(SYS_setresuid, actor.uid, actor.uid, actor.uid) == 0,
            "setresuid");
  });
  return *thread;
}

void KernelRunner::Begin(const Program& program) {
  root_->Run([&] { BeginAsRoot(program); });
}

void KernelRunner::BeginAsRoot(const Program& program) {
  actors_ = program.actors;
  oracle_ = program.oracle;
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
  root_->Run([this] { EndAsRoot(); });
  return "";
}

void KernelRunner::EndAsRoot() {
  for (const auto& [handle, descriptor] : descriptors_) close(descriptor);
  descriptors_.clear();
  Require(fchdir(outer_root_) == 0 && chroot(".") == 0, "leave the chroot");
  umask(022);
  Require(umount2(mountpoint_.c_str(), MNT_DETACH) == 0, "umount");
}

int KernelRunner::Descriptor(int handle) const {
  if (handle == kCwd) return AT_FDCWD;
  const auto it = descriptors_.find(handle);
  return it == descriptors_.end() ? kNeverOpen : it->second;
}

int KernelRunner::Directory(int handle) const { return Descriptor(handle); }

Outcome KernelRunner::Run(const Step& step) {
  // Mounts are root's.
  ActorThread& thread =
      ChangesMounts(step.kind) ? *root_ : ThreadOf(actors_[step.actor]);
  Outcome outcome;
  // A lock-free walk that another process' mount or rename disturbs is begun
  // again, and its links count twice (nd->total_link_count); or with
  // RESOLVE_CACHED it is given up. Both are chance, and have changed nothing:
  // what the kernel means it says again.
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    thread.Run([&] { outcome = RunAsActor(step); });
    if (outcome.error != ELOOP && outcome.error != EAGAIN) break;
  }
  return outcome;
}

Outcome KernelRunner::RunAsActor(const Step& step) {
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
    case Kind::kSetAttributes:
      return SetAllAttributes(step);
    case Kind::kStatFileSystem:
      return StatFileSystem(step);
    case Kind::kMount:
    case Kind::kBind:
    case Kind::kUnmount:
    case Kind::kRemount:
      return Mount(step);
  }
  std::abort();
}

long KernelRunner::OpenNow(const Step& step, uint64_t extra_flags) const {
  open_how how{};
  how.flags = step.flags | extra_flags;
  how.mode = step.mode;
  how.resolve = step.resolve;
  return step.kind == Kind::kOpenHow
             ? syscall(SYS_openat2, Directory(step.dir), Pointer(step.path),
                       &how, sizeof(how))
             : syscall(SYS_openat, Directory(step.dir), Pointer(step.path),
                       static_cast<uint32_t>(how.flags), step.mode);
}

int KernelRunner::OpenOtherEnd(const Step& step) {
  // The walk that has just succeeded, once more.
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC | (step.flags & (O_NOFOLLOW | O_DIRECTORY));
  how.resolve = step.kind == Kind::kOpenHow ? step.resolve : 0;
  const auto path = static_cast<int>(syscall(
      SYS_openat2, Directory(step.dir), Pointer(step.path), &how, sizeof(how)));
  if (path < 0) return -1;
  struct stat found;
  int other = -1;
  if (fstat(path, &found) == 0 && S_ISFIFO(found.st_mode)) {
    // As root: the actor may not be allowed to read.
    root_->Run([&] {
      other = openat(proc_, fmt::format("thread-self/fd/{}", path).c_str(),
                     O_RDWR | O_NONBLOCK | O_CLOEXEC);
    });
  }
  close(path);
  return other;
}

Outcome KernelRunner::Open(const Step& step) {
  // Deliberate difference fifo-never-waits. What would wait is asked without
  // waiting, which makes a difference to fifos only; where that fails for want
  // of a reader, it is asked again while there is one. O_PATH opens nothing,
  // and openat2(2) refuses to have it with O_NONBLOCK.
  const bool could_wait = (step.flags & (O_NONBLOCK | O_PATH)) == 0;
  LimitDescriptors();
  long descriptor = OpenNow(step, could_wait ? O_NONBLOCK : 0);
  Outcome outcome = OutcomeOf(descriptor);
  LiftDescriptorLimit();
  if (could_wait && outcome.error == ENXIO) {
    const int other_end = OpenOtherEnd(step);
    if (other_end >= 0) {
      differences_.Apply(Difference::kFifoNeverWaits);
      descriptor = OpenNow(step, 0);
      outcome = OutcomeOf(descriptor);
      close(other_end);
    }
  }
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
    differences_.Apply(Difference::kUnknownStatFlags);
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
    differences_.Apply(Difference::kRegularContent);
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
  int descriptor;
  if (by_handle) {
    descriptor = Descriptor(step.dir);
  } else {
    // The service needs no handle for this.
    const bool root = !step.path.has_value() || step.path->empty();
    const long opened =
        syscall(SYS_openat, Directory(step.dir),
                root ? "/" : step.path->c_str(), O_RDONLY | O_DIRECTORY);
    outcome.error = ErrorOf(opened);
    if (outcome.error != 0) return outcome;
    descriptor = static_cast<int>(opened);
  }
  outcome.error = ReadDirectoryAt(descriptor, step.mask, outcome.entries);
  if (!by_handle) close(descriptor);
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

Outcome KernelRunner::SetAllAttributes(const Step& step) {
  // In an order in which none undoes what another did: a change of owner takes
  // set-id bits away, and both of them change times.
  constexpr std::pair<uint32_t, Kind> kOrder[] = {
      {kChangesSize, Kind::kTruncate},
      {kChangesOwner, Kind::kChangeOwner},
      {kChangesMode, Kind::kChangeMode},
      {kChangesTimes, Kind::kSetTimes}};
  differences_.Apply(Difference::kAttributesTogether);
  Outcome outcome;
  bool first = true;
  for (const auto& [change, kind] : kOrder) {
    if ((step.changes & change) == 0) continue;
    Step one = step;
    one.kind = kind;
    outcome = SetAttributes(one);
    if (outcome.error != 0) {
      if (!first) outcome.error = kHalfDone;
      return outcome;
    }
    first = false;
  }
  return outcome;
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
    const long descriptor =
        syscall(SYS_openat, Directory(step.dir), step.path->c_str(), O_PATH);
    outcome = OutcomeOf(descriptor);
    if (descriptor >= 0) {
      outcome = OutcomeOf(syscall(SYS_fstatfs, descriptor, &result));
      close(static_cast<int>(descriptor));
    }
  }
  if (outcome.error == 0) {
    outcome.statfs = {static_cast<uint64_t>(result.f_type),
                      static_cast<uint64_t>(result.f_bsize),
                      static_cast<uint64_t>(result.f_namelen),
                      static_cast<uint64_t>(result.f_flags)};
  }
  return outcome;
}

std::string KernelRunner::PlainPath(const char* path) const {
  std::string plain(4096, '\0');
  const int target = open(path, O_PATH | O_CLOEXEC);
  const ssize_t size =
      readlinkat(proc_, fmt::format("thread-self/fd/{}", target).c_str(),
                 plain.data(), plain.size());
  close(target);
  plain.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return plain;
}

Outcome KernelRunner::Mount(const Step& step) {
  const char* const path = Pointer(step.path);
  struct statx root;
  struct statx target;
  // Only a remount means the root.
  const bool at_root =
      path != nullptr && RawStatx(AT_FDCWD, "/", 0, kMountMask, root) == 0 &&
      RawStatx(AT_FDCWD, path, 0, kMountMask, target) == 0 &&
      root.stx_mnt_id == target.stx_mnt_id && root.stx_ino == target.stx_ino;
  // Read-only is the mount's matter here, not the file system's.
  const bool read_only = (step.flags & 1) != 0;
  unsigned long remount = MS_REMOUNT | MS_BIND;
  if (read_only) remount |= MS_RDONLY;
  // Once something is mounted there the path may lead elsewhere ("a/b/..").
  const std::string plain_path = PlainPath(path);
  Outcome outcome;
  if (step.kind == Kind::kRemount)
    return OutcomeOf(mount(nullptr, path, nullptr, remount, nullptr));
  if (at_root) {
    outcome.error = kNotAsked;
    return outcome;
  }
  if (step.kind == Kind::kUnmount)
    return OutcomeOf(umount2(path, static_cast<int>(step.flags)));
  if (step.kind == Kind::kBind) {
    const char* const source = Pointer(step.path2);
    struct statx from;
    if (RawStatx(AT_FDCWD, path, 0, STATX_TYPE, target) == 0 &&
        RawStatx(AT_FDCWD, source, 0, STATX_TYPE, from) == 0 &&
        !S_ISDIR(target.stx_mode) && !S_ISDIR(from.stx_mode)) {
      differences_.Apply(Difference::kDirectoriesAreMounted);
      outcome.error = ENOTDIR;
      return outcome;
    }
    outcome =
        OutcomeOf(mount(Pointer(step.path2), path, nullptr, MS_BIND, nullptr));
  } else {
    const char* const type = oracle_ == Oracle::kRamfs ? "ramfs" : "tmpfs";
    outcome = OutcomeOf(mount("differential", path, type, 0, "mode=755"));
  }
  if (outcome.error == 0 && read_only) {
    Require(mount(nullptr, plain_path.c_str(), nullptr, remount, nullptr) == 0,
            "remount read-only");
  }
  return outcome;
}

Listing KernelRunner::List() {
  Listing listing;
  root_->Run([&] {
    struct statx result;
    const int root = open("/", O_RDONLY | O_DIRECTORY | O_NOATIME | O_CLOEXEC);
    Require(root >= 0, "open the root");
    Require(RawStatx(root, "", AT_EMPTY_PATH, kListingMask, result) == 0,
            "statx");
    listing["/"] = FromKernel(result);
    ListBelow(root, "/", listing);
    close(root);
    for (const auto& [handle, descriptor] : descriptors_) {
      Require(
          RawStatx(descriptor, "", AT_EMPTY_PATH, kListingMask, result) == 0,
          "statx");
      listing[fmt::format("@{}", handle)] = FromKernel(result);
    }
  });
  return listing;
}

void KernelRunner::ListBelow(int directory, const std::string& path,
                             Listing& listing) {
  std::vector<ListedEntry> entries;
  // A directory that is removed stays where it is mounted once more.
  const int32_t error = ReadEntries(directory, entries);
  Require(error == 0 || error == ENOENT, "getdents64");
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
