// A core with an empty mem file system and a session of root's, and short names
// for its operations. Every test ends with all object counts back at what they
// were before it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
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

  template <typename T>
  static Errno ErrorOf(const Result<T>& result) {
    return result.has_value() ? Errno::kOk : result.error();
  }

 private:
  Executor& executor_;
  SessionRef session_;
};

class CoreTest : public testing::Test {
 protected:
  explicit CoreTest(const VfsOptions& options = {})
      : baseline_(live_objects::TakeSnapshot()) {
    Restart(options);
  }

  ~CoreTest() override {
    EXPECT_EQ(vfs_ == nullptr ? 0 : vfs_->files.extra_references_total(),
              expected_extra_references_);
    Stop();
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

  Vfs& vfs() { return *vfs_; }
  SessionTable& sessions() { return *sessions_; }
  Executor& executor() { return *executor_; }

  int64_t expected_extra_references_ = 0;

 private:
  const live_objects::Snapshot baseline_;
  std::unique_ptr<Vfs> vfs_;
  std::unique_ptr<SessionTable> sessions_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace vfsd::vfs

namespace vfsd {
// So that a failed EXPECT_EQ names the error.
inline void PrintTo(Errno error, std::ostream* out) {
  *out << ErrnoName(error);
}
}  // namespace vfsd
