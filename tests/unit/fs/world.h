// A small server without its network, for tests of file systems: a Vfs over a
// mem file system, proc mounted at /proc, sessions and an executor. Checks at
// its end that every kind of object is back at the count from before.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "server/fs/mem/mem_file_system.h"
#include "server/fs/proc/proc_file_system.h"
#include "server/fs/proc/session_entries.h"
#include "server/sync/rcu.h"
#include "server/vfs/executor.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/session_table.h"
#include "server/vfs/synthetic_file.h"
#include "server/vfs/vfs.h"

namespace vfsd::testing {

namespace abi = vfs::linux_abi;

// Construct it first, so that it is destroyed last.
class ObjectBaseline {
 public:
  ObjectBaseline() {
    sync::RcuBarrier();
    before_ = vfs::live_objects::TakeSnapshot();
  }
  ~ObjectBaseline() {
    sync::RcuBarrier();
    const auto after = vfs::live_objects::TakeSnapshot();
    for (size_t i = 0; i < vfs::kObjectKindCount; ++i) {
      EXPECT_EQ(after[i], before_[i])
          << vfs::ObjectKindName(static_cast<vfs::ObjectKind>(i));
    }
  }
  ObjectBaseline(const ObjectBaseline&) = delete;
  ObjectBaseline& operator=(const ObjectBaseline&) = delete;

 private:
  vfs::live_objects::Snapshot before_;
};

struct WorldOptions {
  // What is mounted at "/"; null: an empty mem file system. Whoever gives one
  // has made its objects, and keeps the baseline.
  std::shared_ptr<vfs::FileSystem> top = nullptr;
  std::vector<proc::CoreFile> core_files;
  vfs::FastPathSet fast_paths = vfs::FastPathSet::All();
  bool session_entries = false;
};

class World {
 private:
  std::optional<ObjectBaseline> baseline_;

 public:
  explicit World(WorldOptions options = {})
      : baseline_(BaselineFor(options)),
        vfs(VfsOptionsFor(options), TopFor(options)),
        sessions(vfs, vfs::SessionLimits{}),
        executor(vfs),
        proc(std::make_shared<proc::ProcFileSystem>(
            vfs.fast_paths, std::move(options.core_files), &counters)),
        entries(proc) {
    if (options.session_entries) sessions.SetObserver(&entries);
    session = OpenSession(0, 0);
    MakeDirectory("/proc");
    const auto mounted = vfs.mounts.MountOn(
        proc, vfs.top(), PinTopChild("proc"), "/proc", vfs::MountOptions{});
    EXPECT_TRUE(mounted.has_value());
  }
  ~World() {
    session.reset();
    for (const vfs::SessionRef& open : sessions.List()) {
      sessions.Close(open->id(), nullptr);
    }
    sync::RcuBarrier();
    EXPECT_EQ(vfs.files.nr_files(), 0);
    EXPECT_EQ(counters.openers_allocated.Sum(), counters.openers_freed.Sum());
  }

  vfs::SessionRef OpenSession(uint32_t uid, uint32_t gid,
                              std::vector<uint32_t> groups = {},
                              std::string client_name = "test") {
    vfs::SessionOptions session_options;
    session_options.credentials =
        std::make_shared<const vfs::Credentials>(uid, gid, std::move(groups));
    session_options.client_name = std::move(client_name);
    Result<vfs::SessionRef> opened = sessions.Open(std::move(session_options));
    EXPECT_TRUE(opened.has_value());
    return *opened;
  }

  // All in the root's session, unless told otherwise.
  Result<vfs::Handle> Open(std::string_view path,
                           uint32_t flags = abi::kORdOnly) {
    return Open(*session, path, flags);
  }
  Result<vfs::Handle> Open(vfs::Session& in, std::string_view path,
                           uint32_t flags = abi::kORdOnly) {
    vfs::OpenOperation operation;
    operation.path = path;
    operation.flags = flags;
    operation.mode = 0644;
    return executor.Execute(vfs::Caller(in), operation);
  }
  // kOk or why not.
  Errno Close(vfs::Handle handle) {
    vfs::CloseOperation operation;
    operation.handle = handle;
    const auto result = executor.Execute(vfs::Caller(*session), operation);
    return result.has_value() ? Errno::kOk : result.error();
  }
  Result<std::string> Read(vfs::Handle handle, int64_t offset = 0,
                           size_t size = 1U << 20) {
    return Read(*session, handle, offset, size);
  }
  Result<std::string> Read(vfs::Session& in, vfs::Handle handle,
                           int64_t offset = 0, size_t size = 1U << 20) {
    std::string text(size, '\0');
    vfs::ReadOperation operation;
    operation.handle = handle;
    operation.offset = offset;
    operation.buffer = text;
    const auto result = executor.Execute(vfs::Caller(in), operation);
    if (!result.has_value()) return Fail(result.error());
    text.resize(*result);
    return text;
  }
  // Open, read to the end, close.
  Result<std::string> ReadAll(std::string_view path) {
    const auto handle = Open(path);
    if (!handle.has_value()) return Fail(handle.error());
    auto text = Read(*handle);
    EXPECT_EQ(Close(*handle), Errno::kOk);
    return text;
  }
  Result<vfs::Statx> Stat(std::string_view path,
                          uint32_t flags = abi::kAtSymlinkNofollow) {
    vfs::StatOperation operation;
    operation.path = path;
    operation.flags = flags;
    operation.mask = abi::kStatxBasicStats | abi::kStatxBtime;
    return executor.Execute(vfs::Caller(*session), operation);
  }
  Result<vfs::Statx> StatHandle(vfs::Handle handle) {
    vfs::StatOperation operation;
    operation.dir = handle;
    operation.flags = abi::kAtEmptyPath;
    operation.mask = abi::kStatxBasicStats;
    return executor.Execute(vfs::Caller(*session), operation);
  }
  Result<vfs::DirectoryPage> ReadDirectory(std::string_view path,
                                           uint64_t cursor = 0,
                                           uint32_t page_size = 10'000) {
    vfs::ReadDirectoryOperation operation;
    operation.path = path;
    operation.cursor = cursor;
    operation.page_size = page_size;
    return executor.Execute(vfs::Caller(*session), operation);
  }
  std::vector<std::string> Names(std::string_view path) {
    std::vector<std::string> names;
    const auto page = ReadDirectory(path);
    EXPECT_TRUE(page.has_value());
    if (!page.has_value()) return names;
    for (const auto& entry : page->entries) names.push_back(entry.name);
    return names;
  }
  void MakeDirectory(std::string_view path) {
    vfs::MakeDirectoryOperation operation;
    operation.path = path;
    operation.mode = 0755;
    EXPECT_TRUE(executor.Execute(vfs::Caller(*session), operation).has_value());
  }

  int64_t hits() const {
    return vfs.fast_paths.hits(vfs::FastPath::kPermanent);
  }
  int64_t general() const {
    return vfs.fast_paths.general(vfs::FastPath::kPermanent);
  }

  // Before the Vfs, whose files may count in them to the end.
  proc::ProcCounters counters;
  vfs::Vfs vfs;
  // After the entries it would tell of its end; see ~World.
  vfs::SessionTable sessions;
  vfs::Executor executor;
  std::shared_ptr<proc::ProcFileSystem> proc;
  proc::SessionEntries entries;
  vfs::SessionRef session;

 private:
  static std::optional<ObjectBaseline> BaselineFor(
      const WorldOptions& options) {
    if (options.top != nullptr) return std::nullopt;
    return std::optional<ObjectBaseline>(std::in_place);
  }
  static std::shared_ptr<vfs::FileSystem> TopFor(WorldOptions& options) {
    if (options.top != nullptr) return std::move(options.top);
    return std::make_shared<mem::MemFileSystem>();
  }
  static vfs::VfsOptions VfsOptionsFor(const WorldOptions& options) {
    vfs::VfsOptions vfs_options;
    vfs_options.fast_paths = options.fast_paths;
    return vfs_options;
  }
  vfs::PinnedInode PinTopChild(std::string_view name) {
    vfs::Inode& root = vfs.top().file_system().root();
    const sync::RcuReadSection section;
    vfs::Dentry* const dentry = vfs.top().file_system().dentries().Find(
        &root, vfs::DentryTable::Hash(&root, name), name);
    return vfs::PinnedInode::TryShare(dentry->inode());
  }
};

}  // namespace vfsd::testing
