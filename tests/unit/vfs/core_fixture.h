// A core with an empty mem file system and a session of root's, and short names
// for its operations. Every test ends with all object counts back at what they
// were before it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/fs/mem/mem_file_system.h"
#include "server/sync/rcu.h"
#include "server/vfs/executor.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/session.h"
#include "server/vfs/session_table.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

// One session's view of the core: what a process is to a kernel test.
class Process {
 public:
  Process(Executor& executor, SessionRef session)
      : executor_(executor), session_(std::move(session)) {}

  Session& session() const { return *session_; }
  Caller caller() const { return Caller(*session_); }

  Result<Handle> Open(PathArgument path, uint32_t flags, uint32_t mode = 0644,
                      DirectoryArgument dir = std::nullopt) const {
    OpenOperation operation;
    operation.dir = dir;
    operation.path = path;
    operation.flags = flags;
    operation.mode = mode;
    return executor_.Execute(caller(), operation);
  }
  // kOk or the error, with the handle closed again.
  Errno TryOpen(PathArgument path, uint32_t flags, uint32_t mode = 0644,
                DirectoryArgument dir = std::nullopt) const {
    const Result<Handle> handle = Open(path, flags, mode, dir);
    return handle.has_value() ? Close(*handle) : handle.error();
  }
  Errno Close(Handle handle) const {
    CloseOperation operation;
    operation.handle = handle;
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Result<Statx> Stat(PathArgument path, uint32_t flags = 0,
                     uint32_t mask = linux_abi::kStatxBasicStats,
                     DirectoryArgument dir = std::nullopt) const {
    StatOperation operation;
    operation.dir = dir;
    operation.path = path;
    operation.flags = flags;
    operation.mask = mask;
    return executor_.Execute(caller(), operation);
  }
  // fstat(2).
  Result<Statx> StatHandle(Handle handle,
                           uint32_t mask = linux_abi::kStatxBasicStats) const {
    return Stat(std::nullopt, linux_abi::kAtEmptyPath, mask, handle);
  }
  Errno Access(PathArgument path, uint32_t mode, uint32_t flags = 0,
               DirectoryArgument dir = std::nullopt) const {
    AccessOperation operation;
    operation.dir = dir;
    operation.path = path;
    operation.mode = mode;
    operation.flags = flags;
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Errno MakeDirectory(PathArgument path, uint32_t mode = 0755,
                      DirectoryArgument dir = std::nullopt) const {
    MakeDirectoryOperation operation;
    operation.dir = dir;
    operation.path = path;
    operation.mode = mode;
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Errno Unlink(PathArgument path, uint32_t flags = 0,
               DirectoryArgument dir = std::nullopt) const {
    UnlinkOperation operation;
    operation.dir = dir;
    operation.path = path;
    operation.flags = flags;
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Errno RemoveDirectory(PathArgument path) const {
    return Unlink(path, linux_abi::kAtRemovedir);
  }
  Errno Rename(PathArgument from, PathArgument to, uint32_t flags = 0) const {
    RenameOperation operation;
    operation.old_path = from;
    operation.new_path = to;
    operation.flags = flags;
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Errno MakeNode(PathArgument path, uint32_t mode, uint64_t device = 0) const {
    MakeNodeOperation operation;
    operation.path = path;
    operation.mode = mode;
    operation.device = device;
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Errno MakeSymlink(PathArgument target, PathArgument path) const {
    MakeSymlinkOperation operation;
    operation.target = target;
    operation.path = path;
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Errno MakeLink(PathArgument existing, PathArgument path) const {
    MakeLinkOperation operation;
    operation.old_path = existing;
    operation.new_path = path;
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Errno SetAttributes(const SetAttributesOperation& operation) const {
    return ErrorOf(executor_.Execute(caller(), operation));
  }
  Errno ChangeMode(PathArgument path, uint32_t mode) const {
    SetAttributesOperation operation;
    operation.path = path;
    operation.mode = mode;
    return SetAttributes(operation);
  }
  Errno ChangeOwner(PathArgument path, uint32_t uid, uint32_t gid) const {
    SetAttributesOperation operation;
    operation.path = path;
    operation.changes_owner = true;
    operation.uid = uid;
    operation.gid = gid;
    operation.flags = linux_abi::kAtSymlinkNofollow;
    return SetAttributes(operation);
  }
  Errno Truncate(PathArgument path, int64_t size) const {
    SetAttributesOperation operation;
    operation.path = path;
    operation.size = size;
    return SetAttributes(operation);
  }
  Result<size_t> Read(Handle handle, std::span<char> buffer,
                      int64_t offset = 0) const {
    ReadOperation operation;
    operation.handle = handle;
    operation.offset = offset;
    operation.buffer = buffer;
    return executor_.Execute(caller(), operation);
  }
  // Creates an empty file.
  Errno Create(PathArgument path, uint32_t mode = 0644) const {
    return TryOpen(path,
                   linux_abi::kOCreat | linux_abi::kOExcl | linux_abi::kOWrOnly,
                   mode);
  }
  Result<DirectoryPage> List(PathArgument path, uint64_t cursor = 0,
                             uint32_t page_size = 1000) const {
    ReadDirectoryOperation operation;
    operation.path = path;
    operation.cursor = cursor;
    operation.page_size = page_size;
    return executor_.Execute(caller(), operation);
  }

  Result<DirectoryPage> ListHandle(Handle handle) const {
    ReadDirectoryOperation operation;
    operation.dir = handle;
    operation.page_size = 1000;
    return executor_.Execute(caller(), operation);
  }

  template <typename T>
  static Errno ErrorOf(const Result<T>& result) {
    return result.has_value() ? Errno::kOk : result.error();
  }

 private:
  Executor& executor_;
  SessionRef session_;
};

// Hooks that count, and fail on demand.
class FaultHooks final : public SecurityHooks {
 public:
  Errno FileAlloc(const Credentials&) override {
    const Errno error = alloc_error.load();
    if (error == Errno::kOk) ++allocated;
    return error;
  }
  void FileFree() override { ++freed; }
  Errno FilePostOpen(const File&) override { return post_open_error.load(); }
  Errno InodeGetattr(const Inode&) override { return getattr_error.load(); }

  std::atomic<Errno> alloc_error{Errno::kOk};
  std::atomic<Errno> post_open_error{Errno::kOk};
  std::atomic<Errno> getattr_error{Errno::kOk};
  std::atomic<int64_t> allocated{0};
  std::atomic<int64_t> freed{0};
};

// The live objects once all that was retired is gone: what an earlier test
// retired is no part of a later one's baseline.
inline live_objects::Snapshot SettledObjects() {
  sync::RcuBarrier();
  return live_objects::TakeSnapshot();
}

class CoreTest : public testing::Test {
 protected:
  explicit CoreTest(const VfsOptions& options = {})
      : baseline_(SettledObjects()) {
    Restart(options);
  }

  ~CoreTest() override {
    Stop();
    EXPECT_EQ(extra_references_, expected_extra_references_);
    const live_objects::Snapshot now = live_objects::TakeSnapshot();
    for (size_t i = 0; i < now.size(); ++i) {
      EXPECT_EQ(now[i], baseline_[i])
          << ObjectKindName(static_cast<ObjectKind>(i));
    }
  }

  // A new core with other options.
  void Restart(const VfsOptions& options, MountOptions top = {}) {
    Stop();
    vfs_ = std::make_unique<Vfs>(options,
                                 std::make_shared<mem::MemFileSystem>(), top);
    sessions_ = std::make_unique<SessionTable>(*vfs_, SessionLimits{});
    executor_ = std::make_unique<Executor>(*vfs_);
  }

  void Stop() {
    executor_.reset();
    sessions_.reset();
    if (vfs_ != nullptr)
      extra_references_ += vfs_->files.extra_references_total();
    vfs_.reset();
    sync::RcuBarrier();
  }

  // A session with these credentials and no umask.
  Process Start(uint32_t uid = 0, uint32_t gid = 0,
                std::vector<uint32_t> groups = {}) {
    SessionOptions options;
    options.credentials =
        std::make_shared<const Credentials>(uid, gid, std::move(groups));
    options.umask = 0;
    return Process(*executor_, *sessions_->Open(std::move(options)));
  }

  // What a path names, pinned; a symbolic link at the end is not followed.
  PinnedPath Pin(const Process& process, std::string_view path) {
    const WalkRequest request{*vfs_, process.session(),
                              *process.session().credentials(), std::nullopt,
                              path};
    Result<PinnedPath> pinned = Walker(request).Resolve();
    EXPECT_TRUE(pinned.has_value()) << path;
    return pinned.has_value() ? std::move(*pinned) : PinnedPath();
  }

  // Mounts a new mem file system on a directory.
  Mount* MountMem(const Process& process, const std::string& path,
                  MountOptions options = {}) {
    const PinnedPath at = Pin(process, path);
    const Result<Mount*> mount =
        vfs_->mounts.MountOn(std::make_shared<mem::MemFileSystem>(), at.mount(),
                             PinnedInode::Share(at.inode()), path, options);
    EXPECT_TRUE(mount.has_value()) << path;
    return mount.value_or(nullptr);
  }

  static std::vector<DirectoryEntry> Entries(const Process& process,
                                             std::string_view path) {
    Result<DirectoryPage> page = process.List(path);
    EXPECT_TRUE(page.has_value()) << path;
    return page.has_value() ? std::move(page->entries)
                            : std::vector<DirectoryEntry>();
  }

  Vfs& vfs() { return *vfs_; }
  SessionTable& sessions() { return *sessions_; }
  Executor& executor() { return *executor_; }

  int64_t expected_extra_references_ = 0;

 private:
  int64_t extra_references_ = 0;
  const live_objects::Snapshot baseline_;
  std::unique_ptr<Vfs> vfs_;
  std::unique_ptr<SessionTable> sessions_;
  std::unique_ptr<Executor> executor_;
};

// How a core is run: with which fast paths, and with which walk.
struct CoreVariant {
  bool fast_paths;
  bool locked_walk_only;
};
inline constexpr CoreVariant kCoreVariants[] = {
    {true, false}, {true, true}, {false, false}, {false, true}};

inline std::string CoreVariantName(
    const testing::TestParamInfo<CoreVariant>& info) {
  return std::string(info.param.fast_paths ? "AllFastPaths" : "NoFastPaths") +
         (info.param.locked_walk_only ? "LockedWalk" : "FastWalk");
}

// A core in each of the variants; what is true must be true in all.
class VariantTest : public CoreTest,
                    public testing::WithParamInterface<CoreVariant> {
 protected:
  VariantTest() { RestartVariant(); }
  ~VariantTest() override { Stop(); }  // before the hooks go

  static bool fast() { return GetParam().fast_paths; }

  // The test's variant of these options.
  void RestartVariant(VfsOptions options = {}, MountOptions top = {}) {
    options.fast_paths = fast() ? FastPathSet::All() : FastPathSet::None();
    options.locked_walk_only = GetParam().locked_walk_only;
    options.hooks = &hooks_;
    Restart(options, top);
  }

  FaultHooks hooks_;
};

}  // namespace vfsd::vfs

namespace vfsd {
// So that a failed EXPECT_EQ names the error.
inline void PrintTo(Errno error, std::ostream* out) {
  *out << ErrnoName(error);
}
}  // namespace vfsd
