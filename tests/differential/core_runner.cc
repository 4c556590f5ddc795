#include "tests/differential/core_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "server/fs/mem/mem_file_system.h"
#include "server/sync/rcu.h"
#include "server/vfs/dentry.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/session.h"
#include "server/vfs/stat.h"
#include "server/vfs/walk.h"

namespace vfsd::differential {
namespace {

namespace abi = vfs::linux_abi;

vfs::PathArgument View(const PathText& path) {
  if (!path.has_value()) return std::nullopt;
  return *path;
}

Outcome OutcomeOf(Errno error) {
  Outcome outcome;
  outcome.error = static_cast<int32_t>(error);
  return outcome;
}

template <typename T>
Outcome OutcomeOf(const Result<T>& result) {
  Outcome outcome;
  if (!result.has_value()) outcome.error = static_cast<int32_t>(result.error());
  return outcome;
}

// What is below `path`, as the namespace shows it. Nothing else runs meanwhile,
// so what is found stays.
void ListBelow(const vfs::Vfs& vfs, const vfs::PathView& path,
               const std::string& prefix, Listing& listing) {
  std::vector<std::pair<std::string, vfs::PathView>> entries;
  {
    vfs::Directory& names = path.inode->directory();
    absl::ReaderMutexLock lock(&names.mu);
    for (const vfs::Dentry* const dentry : names.children) {
      entries.emplace_back(dentry->name(),
                           vfs::PathView{path.mount, &dentry->inode()});
    }
  }
  for (auto& [name, at] : entries) {
    {
      const sync::RcuReadSection section;
      while (vfs::Mount* const child =
                 vfs.mounts.FindChild(at.mount, at.inode)) {
        at = {child, child->root()};
      }
    }
    listing[prefix + name] = *vfs::FillStatx(vfs, at, kListingMask);
    if (at.inode->IsDirectory())
      ListBelow(vfs, at, prefix + name + "/", listing);
  }
}

}  // namespace

CoreRunner::CoreRunner(std::string name, const vfs::VfsOptions& options)
    : name_(std::move(name)),
      vfs_(options, std::make_shared<mem::MemFileSystem>()),
      sessions_(vfs_, vfs::SessionLimits{}),
      executor_(vfs_) {}

CoreRunner::~CoreRunner() = default;

void CoreRunner::Begin(const Program& program) {
  // A file system of the program's own, on top of the root: a session's root is
  // what is topmost there.
  mem::RootOptions root;
  root.mode = program.root_mode;
  oracle_ = program.oracle;
  mounts_.push_back(*vfs_.mounts.MountOn(
      std::make_shared<mem::MemFileSystem>(root), vfs_.top(),
      vfs::PinnedInode::Share(*vfs_.top().root()), "/",
      {.no_direct_io = oracle_ == Oracle::kRamfs}));
  actors_ = program.actors;
  Become(0);
  vfs::SessionOptions options;
  options.credentials = credentials_;
  options.umask = program.umask;
  options.lease = absl::Hours(1);
  session_ = *sessions_.Open(std::move(options));
}

void CoreRunner::Become(uint32_t actor) {
  const Actor& as = actors_[actor];
  credentials_ =
      std::make_shared<const vfs::Credentials>(as.uid, as.gid, as.groups);
  current_actor_ = actor;
}

std::string CoreRunner::End() {
  handles_.clear();
  sessions_.Close(session_->id(), nullptr);
  session_.reset();
  credentials_.reset();
  std::string wrong;
  while (!mounts_.empty()) {
    vfs::Mount& mount = *mounts_.back();
    mounts_.pop_back();
    if (mount.writers() != 0)
      wrong = fmt::format("{} writers left on a mount", mount.writers());
    // Fails while anything still refers to the mount.
    const Errno error = vfs_.mounts.Unmount(mount);
    if (error == Errno::kOk) continue;
    wrong = fmt::format("unmount after the end: {}", ErrnoName(error));
    vfs_.mounts.Unmount(mount, /*lazy=*/true);
  }
  if (vfs_.files.nr_files() != 0)
    wrong = fmt::format("nr_files is {} after the end", vfs_.files.nr_files());
  return wrong;
}

vfs::Handle CoreRunner::Handle(int handle) const {
  const auto it = handles_.find(handle);
  return it == handles_.end() ? 0 : it->second;
}

vfs::DirectoryArgument CoreRunner::Directory(int handle) const {
  if (handle == kCwd) return std::nullopt;
  return Handle(handle);
}

Outcome CoreRunner::Run(const Step& step) {
  if (step.actor != current_actor_) Become(step.actor);
  const vfs::Caller caller(*session_, credentials_);
  // Operations that answer with nothing but an errno, and share their fields'
  // names.
  const auto run_at = [&](auto operation, auto&&... set) {
    operation.dir = Directory(step.dir);
    operation.path = View(step.path);
    (set(operation), ...);
    return OutcomeOf(executor_.Execute(caller, operation));
  };
  const auto run_two = [&](auto operation) {
    operation.old_dir = Directory(step.dir);
    operation.old_path = View(step.path);
    operation.new_dir = Directory(step.dir2);
    operation.new_path = View(step.path2);
    operation.flags = step.flags;
    return OutcomeOf(executor_.Execute(caller, operation));
  };
  const auto set_mode = [&](auto& operation) { operation.mode = step.mode; };
  const auto set_flags = [&](auto& operation) { operation.flags = step.flags; };
  switch (step.kind) {
    case Kind::kOpen:
    case Kind::kOpenHow:
      return Open(caller, step);
    case Kind::kClose: {
      // The handle's value stays known: later steps find that it is closed.
      vfs::CloseOperation operation;
      operation.handle = Handle(step.dir);
      return OutcomeOf(executor_.Execute(caller, operation));
    }
    case Kind::kStat:
      return Stat(caller, step);
    case Kind::kAccess:
      return run_at(vfs::AccessOperation(), set_mode, set_flags);
    case Kind::kRead:
      return Read(caller, step);
    case Kind::kReadDirectory:
      return ReadDirectory(caller, step);
    case Kind::kReadLink: {
      vfs::ReadLinkOperation operation;
      operation.dir = Directory(step.dir);
      operation.path = View(step.path);
      const Result<std::string> target = executor_.Execute(caller, operation);
      Outcome outcome = OutcomeOf(target);
      if (target.has_value()) outcome.text = *target;
      return outcome;
    }
    case Kind::kMakeDirectory:
      return run_at(vfs::MakeDirectoryOperation(), set_mode);
    case Kind::kMakeNode:
      return run_at(vfs::MakeNodeOperation(), set_mode, [&](auto& operation) {
        operation.device =
            abi::MakeDevice(step.device_major, step.device_minor);
      });
    case Kind::kMakeSymlink:
      return run_at(vfs::MakeSymlinkOperation(), [&](auto& operation) {
        operation.target = View(step.path2);
      });
    case Kind::kMakeLink:
      return run_two(vfs::MakeLinkOperation());
    case Kind::kUnlink:
      return run_at(vfs::UnlinkOperation(), set_flags);
    case Kind::kRename:
      return run_two(vfs::RenameOperation());
    case Kind::kChangeMode:
    case Kind::kChangeOwner:
    case Kind::kTruncate:
    case Kind::kSetTimes:
      return SetAttributes(caller, step);
    case Kind::kStatFileSystem:
      return StatFileSystem(caller, step);
    case Kind::kMount:
    case Kind::kUnmount:
    case Kind::kRemount:
      return ChangeMounts(step);
  }
  std::abort();
}

Outcome CoreRunner::Open(const vfs::Caller& caller, const Step& step) {
  vfs::OpenOperation operation;
  operation.dir = Directory(step.dir);
  operation.path = View(step.path);
  operation.flags = step.flags;
  operation.mode = step.mode;
  if (step.kind == Kind::kOpenHow) operation.resolve = step.resolve;
  const Result<vfs::Handle> handle = executor_.Execute(caller, operation);
  if (handle.has_value()) {
    // The number of an earlier handle: the later one has it from now on.
    const auto [it, is_new] = handles_.try_emplace(step.result, *handle);
    if (!is_new) {
      vfs::CloseOperation close;
      close.handle = std::exchange(it->second, *handle);
      executor_.Execute(caller, close);
    }
  }
  return OutcomeOf(handle);
}

Outcome CoreRunner::Stat(const vfs::Caller& caller, const Step& step) {
  vfs::StatOperation operation;
  operation.dir = Directory(step.dir);
  operation.path = View(step.path);
  operation.flags = step.flags;
  operation.mask = step.mask;
  const Result<vfs::Statx> statx = executor_.Execute(caller, operation);
  Outcome outcome = OutcomeOf(statx);
  if (statx.has_value()) outcome.statx = *statx;
  return outcome;
}

Outcome CoreRunner::Read(const vfs::Caller& caller, const Step& step) {
  std::string buffer(static_cast<size_t>(step.size), '\0');
  vfs::ReadOperation operation;
  operation.handle = Handle(step.dir);
  operation.offset = step.offset;
  operation.buffer = buffer;
  const Result<size_t> count = executor_.Execute(caller, operation);
  Outcome outcome = OutcomeOf(count);
  if (count.has_value()) outcome.count = static_cast<int64_t>(*count);
  return outcome;
}

Outcome CoreRunner::ReadDirectory(const vfs::Caller& caller, const Step& step) {
  vfs::ReadDirectoryOperation operation;
  operation.dir = Directory(step.dir);
  operation.path = View(step.path);
  operation.page_size = static_cast<uint32_t>(step.size);
  Outcome outcome;
  do {
    const Result<vfs::DirectoryPage> page =
        executor_.Execute(caller, operation);
    if (!page.has_value()) return OutcomeOf(page);
    for (const vfs::DirectoryEntry& entry : page->entries)
      outcome.entries.push_back({entry.name, entry.ino, entry.type});
    operation.cursor = page->next_cursor;
  } while (operation.cursor != 0);
  std::sort(outcome.entries.begin(), outcome.entries.end(),
            [](const ListedEntry& a, const ListedEntry& b) {
              return a.name < b.name;
            });
  return outcome;
}

Outcome CoreRunner::SetAttributes(const vfs::Caller& caller, const Step& step) {
  vfs::SetAttributesOperation operation;
  operation.dir = Directory(step.dir);
  operation.path = View(step.path);
  operation.flags = step.flags;
  const auto time = [](const TimeArgument& argument) {
    vfs::TimeChange change;
    switch (argument.kind) {
      case TimeArgument::Kind::kOmit:
        break;
      case TimeArgument::Kind::kNow:
        change.kind = vfs::TimeChange::Kind::kNow;
        break;
      case TimeArgument::Kind::kSet:
        change.kind = vfs::TimeChange::Kind::kSet;
        change.seconds = argument.seconds;
        change.nanoseconds = argument.nanoseconds;
        break;
    }
    return change;
  };
  switch (step.kind) {
    case Kind::kChangeMode:
      operation.mode = step.mode;
      break;
    case Kind::kChangeOwner:
      operation.changes_owner = true;
      if (step.uid != kUnchanged) operation.uid = step.uid;
      if (step.gid != kUnchanged) operation.gid = step.gid;
      break;
    case Kind::kTruncate:
      operation.size = step.size;
      break;
    default:
      operation.atime = time(step.atime);
      operation.mtime = time(step.mtime);
      break;
  }
  return OutcomeOf(executor_.Execute(caller, operation));
}

Outcome CoreRunner::StatFileSystem(const vfs::Caller& caller,
                                   const Step& step) {
  vfs::StatFilesystemOperation operation;
  operation.dir = Directory(step.dir);
  operation.path = View(step.path);
  const Result<vfs::Statfs> statfs = executor_.Execute(caller, operation);
  Outcome outcome = OutcomeOf(statfs);
  if (statfs.has_value()) {
    outcome.statfs = {statfs->type, statfs->block_size, statfs->name_max,
                      statfs->flags};
  }
  return outcome;
}

Outcome CoreRunner::ChangeMounts(const Step& step) {
  Become(current_actor_);
  if (step.kind == Kind::kUnmount && (step.flags & ~2U) != 0)
    return OutcomeOf(Errno::kEINVAL);
  const vfs::Credentials root(0, 0);
  Errno path_error = vfs::CheckPathArgument(View(step.path), false);
  if (path_error != Errno::kOk) return OutcomeOf(path_error);
  const vfs::WalkRequest request{vfs_,         *session_,  root,
                                 std::nullopt, *step.path, vfs::kWalkFollow};
  Result<vfs::PinnedPath> path = vfs::Walker(request).Resolve();
  if (!path.has_value()) return OutcomeOf(path.error());
  const bool at_root = path->view() == session_->root();
  vfs::Mount& mount = path->mount();
  const bool is_mount_root = path->view().inode == mount.root();
  switch (step.kind) {
    case Kind::kRemount:
      if (!is_mount_root) return OutcomeOf(Errno::kEINVAL);
      return OutcomeOf(vfs_.mounts.SetReadOnly(mount, (step.flags & 1) != 0));
    case Kind::kMount: {
      if (at_root) return OutcomeOf(Errno::kECANCELED);
      const Result<vfs::Mount*> made = vfs_.mounts.MountOn(
          std::make_shared<mem::MemFileSystem>(), mount,
          vfs::PinnedInode::Share(path->inode()), *step.path,
          {.no_direct_io = oracle_ == Oracle::kRamfs});
      if (made.has_value()) mounts_.push_back(*made);
      return OutcomeOf(made);
    }
    default: {
      if (at_root) return OutcomeOf(Errno::kECANCELED);
      if (!is_mount_root) return OutcomeOf(Errno::kEINVAL);
      // Our own reference must not make it busy.
      path->Reset();
      const Errno error =
          vfs_.mounts.Unmount(mount, /*lazy=*/(step.flags & 2) != 0);
      if (error == Errno::kOk) std::erase(mounts_, &mount);
      return OutcomeOf(error);
    }
  }
}

Listing CoreRunner::List() {
  Listing listing;
  const vfs::PathView root = session_->root();
  listing["/"] = *vfs::FillStatx(vfs_, root, kListingMask);
  ListBelow(vfs_, root, "/", listing);
  const sync::RcuReadSection section;
  for (const auto& [number, handle] : handles_) {
    const auto file = session_->files().Look(handle);
    if (!file.has_value()) continue;
    listing[fmt::format("@{}", number)] =
        *vfs::FillStatx(vfs_, file->path, kListingMask);
  }
  return listing;
}

}  // namespace vfsd::differential
