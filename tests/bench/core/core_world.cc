#include "tests/bench/core/core_world.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "fmt/format.h"
#include "server/fs/mem/mem_file_system.h"
#include "server/fs/proc/fixed_file.h"
#include "server/fs/proc/proc_file_system.h"
#include "server/sync/rcu.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/namespace_link.h"
#include "tests/bench/core/tree_shape.h"

namespace corebench {
namespace {

namespace vfs = vfsd::vfs;
namespace abi = vfsd::vfs::linux_abi;
using vfsd::Errno;

[[noreturn]] void Die(std::string_view what, std::string_view path,
                      Errno error) {
  fmt::print(stderr, "core_bench: the core: {} {}: {}\n", what, path,
             vfsd::ErrnoName(error));
  std::exit(1);
}

}  // namespace

CoreWorld::CoreWorld(std::string_view version, size_t workers,
                     std::shared_ptr<vfs::FileSystem> root)
    : version_(version), root_(std::move(root)) {
  if (root_ == nullptr) root_ = std::make_shared<vfsd::mem::MemFileSystem>();
  vfs_ = std::make_unique<vfs::Vfs>(vfs::VfsOptions{}, root_);
  executor_ = std::make_unique<vfs::Executor>(*vfs_);
  // The same caller that the kernel sees.
  const auto credentials = std::make_shared<const vfs::Credentials>(
      vfs::Credentials(geteuid(), getegid()));
  for (size_t i = 0; i < workers; ++i) {
    vfs::SessionOptions options;
    options.credentials = credentials;
    constexpr uint64_t kSalt = 0x5a17;
    sessions_.push_back(std::make_unique<vfs::Session>(
        *vfs_, i + 1, static_cast<uint32_t>(i + 1), std::move(options),
        kSalt + i, vfs::LeaseClock::now()));
    callers_.push_back(std::make_unique<vfs::Caller>(*sessions_.back()));
  }

  std::vector<vfsd::proc::CoreFile> files;
  files.push_back({.path = "version",
                   .attributes = {.permissions = 0444},
                   .provider = std::make_unique<vfsd::proc::FixedFile>(
                       version_, vfsd::proc::kProviderPermanent)});
  auto proc = std::make_shared<vfsd::proc::ProcFileSystem>(vfs_->fast_paths,
                                                           std::move(files));
  MakeDirectories("proc");
  vfs::Inode& mountpoint =
      vfs::FindName(*root_, root_->root(), "proc")->inode();
  const auto mounted =
      vfs_->mounts.MountOn(std::move(proc), vfs_->top(),
                           vfs::PinnedInode::Share(mountpoint), "/proc", {});
  if (!mounted.has_value()) Die("mounting", "/proc", mounted.error());
}

CoreWorld::~CoreWorld() {
  for (const auto& session : sessions_) session->files().CloseAll();
  vfs::FileAccounting::DrainDeferred();
  callers_.clear();
  sessions_.clear();
  executor_.reset();
  vfsd::sync::RcuBarrier();
  vfs_.reset();
  root_.reset();
  vfsd::sync::RcuBarrier();
}

void CoreWorld::MakeDirectories(std::string_view path) {
  for (size_t end = 0; end != std::string_view::npos;) {
    end = path.find('/', end + 1);
    vfs::MakeDirectoryOperation operation;
    operation.path = path.substr(0, end);
    operation.mode = 0755;
    const auto made = executor_->Execute(caller(0), operation);
    if (!made.has_value() && made.error() != Errno::kEEXIST)
      Die("mkdir", path, made.error());
  }
}

void CoreWorld::MakeFile(std::string_view path) {
  vfs::MakeNodeOperation operation;
  operation.path = path;
  operation.mode = abi::kSIfreg | 0644;
  const auto made = executor_->Execute(caller(0), operation);
  if (!made.has_value()) Die("mknod", path, made.error());
}

void CoreWorld::GrowTree(uint64_t begin, uint64_t end,
                         const std::function<void()>& each) {
  vfs::MakeNodeOperation operation;
  operation.mode = abi::kSIfreg | 0644;
  for (uint64_t i = begin; i < end; ++i) {
    const std::string path = TreeShape::FilePath(i);
    if (i == begin || i % TreeShape::kFilesPerDirectory == 0)
      MakeDirectories(path.substr(0, path.rfind('/')));
    operation.path = path;
    if (each) each();
    const auto made = executor_->Execute(caller(0), operation);
    if (each) each();
    if (!made.has_value()) Die("mknod", path, made.error());
  }
}

void CoreWorld::MakeHotFiles() {
  MakeDirectories(kDeepDirectory);
  MakeFile(kDeepFile);
  MakeFile(kHotFile);
}

vfs::Handle CoreWorld::Open(std::string_view path, size_t worker) {
  vfs::OpenOperation operation;
  operation.path = path;
  operation.flags = kReadOnly;
  const auto handle = executor_->Execute(caller(worker), operation);
  if (!handle.has_value()) Die("open", path, handle.error());
  return *handle;
}

vfs::Statx CoreWorld::Stat(std::string_view path, size_t worker) {
  vfs::StatOperation operation;
  operation.path = path;
  operation.mask = abi::kStatxBasicStats;
  const auto statx = executor_->Execute(caller(worker), operation);
  if (!statx.has_value()) Die("stat", path, statx.error());
  return *statx;
}

Loop CoreWorld::MakeLoop(Scenario scenario, size_t worker) {
  vfs::Executor* const executor = executor_.get();
  const vfs::Caller* const caller = callers_[worker].get();
  switch (scenario) {
    case Scenario::kOpenRo3: {
      vfs::OpenOperation open;
      open.path = kHotFile;
      open.flags = kReadOnly;
      return Repeat([executor, caller, open] {
        const auto handle = executor->Execute(*caller, open);
        return handle.has_value() &&
               executor->Execute(*caller, vfs::CloseOperation{*handle})
                   .has_value();
      });
    }
    case Scenario::kOpenNeg: {
      vfs::OpenOperation open;
      open.path = kMissingFile;
      open.flags = kReadOnly;
      return Repeat([executor, caller, open] {
        const auto handle = executor->Execute(*caller, open);
        return !handle.has_value() && handle.error() == Errno::kENOENT;
      });
    }
    case Scenario::kFstat:
    case Scenario::kStatxNull: {
      vfs::StatOperation stat;
      stat.dir = Open(kHotFile, worker);
      if (scenario == Scenario::kFstat) stat.path = "";
      stat.flags = abi::kAtEmptyPath;
      stat.mask = abi::kStatxBasicStats;
      const uint64_t ino = Stat(kHotFile, worker).ino;
      return Repeat([executor, caller, stat, ino] {
        const auto statx = executor->Execute(*caller, stat);
        return statx.has_value() && statx->ino == ino;
      });
    }
    case Scenario::kStatxPath: {
      vfs::StatOperation stat;
      stat.path = kDeepFile;
      stat.mask = abi::kStatxBasicStats;
      const uint64_t ino = Stat(kDeepFile, worker).ino;
      return Repeat([executor, caller, stat, ino] {
        const auto statx = executor->Execute(*caller, stat);
        return statx.has_value() && statx->ino == ino;
      });
    }
    case Scenario::kProcRead:
      break;
  }
  vfs::OpenOperation open;
  open.path = "/proc/version";
  open.flags = kReadOnly;
  std::vector<char> buffer(kReadBytes);
  return Repeat([executor, caller, open, buffer, version = version_]() mutable {
    const auto handle = executor->Execute(*caller, open);
    if (!handle.has_value()) return false;
    vfs::ReadOperation read;
    read.handle = *handle;
    read.buffer = buffer;
    const auto size = executor->Execute(*caller, read);
    const bool right =
        size.has_value() && *size == version.size() &&
        std::memcmp(buffer.data(), version.data(), version.size()) == 0;
    return executor->Execute(*caller, vfs::CloseOperation{*handle})
               .has_value() &&
           right;
  });
}

Loop CoreWorld::StatPaths(const std::vector<std::string>& paths,
                          size_t worker) {
  vfs::Executor* const executor = executor_.get();
  const vfs::Caller* const caller = callers_[worker].get();
  return Repeat([executor, caller, &paths, next = size_t{0}]() mutable {
    vfs::StatOperation stat;
    stat.path = paths[next];
    stat.mask = abi::kStatxBasicStats;
    if (++next == paths.size()) next = 0;
    const auto statx = executor->Execute(*caller, stat);
    return statx.has_value() && abi::IsRegular(statx->mode);
  });
}

}  // namespace corebench
