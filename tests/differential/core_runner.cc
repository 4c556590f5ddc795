#include "tests/differential/core_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "server/fs/mem/mem_file_system.h"
#include "server/sync/rcu.h"
#include "server/vfs/dentry.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/session.h"
#include "server/vfs/stat.h"

namespace vfsd::differential {
namespace {

namespace abi = vfs::linux_abi;

vfs::PathArgument View(const PathText& path) {
  if (!path.has_value()) return std::nullopt;
  return *path;
}

template <typename T>
Outcome OutcomeOf(const Result<T>& result) {
  Outcome outcome;
  if (!result.has_value()) outcome.error = static_cast<int32_t>(result.error());
  return outcome;
}

Outcome OutcomeOf(Errno error) {
  Outcome outcome;
  outcome.error = static_cast<int32_t>(error);
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
  // mount(8) of ramfs and tmpfs take the mode alike.
  root.mode = program.root_mode;
  vfs::MountOptions mount;
  mount.no_direct_io = program.oracle == Oracle::kRamfs;
  mount_ = *vfs_.mounts.MountOn(std::make_shared<mem::MemFileSystem>(root),
                                vfs_.top(),
                                vfs::PinnedInode::Share(*vfs_.top().root()),
                                "/", mount);
  actors_.clear();
  for (const Actor& actor : program.actors) {
    actors_.push_back(std::make_shared<const vfs::Credentials>(
        actor.uid, actor.gid, actor.groups));
  }
  vfs::SessionOptions options;
  options.credentials = actors_.front();
  options.umask = program.umask;
  options.lease = absl::Hours(1);
  session_ = *sessions_.Open(std::move(options));
}

std::string CoreRunner::End() {
  handles_.clear();
  actors_.clear();
  sessions_.Close(session_->id(), nullptr);
  session_.reset();
  const int64_t writers = mount_->writers();
  // Fails while anything still refers to the mount.
  const Errno error = vfs_.mounts.Unmount(*mount_);
  if (error != Errno::kOk) {
    vfs_.mounts.Unmount(*mount_, /*lazy=*/true);
    return fmt::format("unmount after the end: {}", ErrnoName(error));
  }
  if (writers != 0) return fmt::format("{} writers left on the mount", writers);
  if (vfs_.files.nr_files() != 0)
    return fmt::format("nr_files is {} after the end", vfs_.files.nr_files());
  return "";
}

vfs::Handle CoreRunner::Handle(int handle) const {
  const auto it = handles_.find(handle);
  return it == handles_.end() ? 0 : it->second;
}

vfs::DirectoryArgument CoreRunner::Directory(int handle) const {
  if (handle == kCwd) return std::nullopt;
  return Handle(handle);
}

template <typename Change>
Outcome CoreRunner::ChangeParent(const Step& step, const PathText& path,
                                 Change&& change) {
  const vfs::Caller root(*session_, actors_.front());
  const size_t slash = path->rfind('/');
  const std::string above =
      slash == std::string::npos ? "." : path->substr(0, slash + 1);
  const std::string name =
      slash == std::string::npos ? *path : path->substr(slash + 1);
  vfs::OpenOperation open;
  open.dir = Directory(step.dir);
  open.path = above;
  open.flags = abi::kOPath | abi::kODirectory;
  const Result<vfs::Handle> parent = executor_.Execute(root, open);
  if (!parent.has_value()) return OutcomeOf(parent);
  vfs::Inode* inode;
  {
    const sync::RcuReadSection section;
    inode = &(*session_->files().Find(*parent))->inode();
  }
  const Errno error = change(*inode, name);
  vfs::CloseOperation close;
  close.handle = *parent;
  executor_.Execute(root, close);
  return OutcomeOf(error);
}

template <typename Change>
Outcome CoreRunner::ChangeInode(const Step& step, Change&& change) {
  const vfs::Caller root(*session_, actors_.front());
  vfs::OpenOperation open;
  open.dir = Directory(step.dir);
  open.path = View(step.path);
  open.flags = abi::kOPath;
  if (step.kind != Kind::kChangeMode) open.flags |= abi::kONofollow;
  const Result<vfs::Handle> handle = executor_.Execute(root, open);
  if (!handle.has_value()) return OutcomeOf(handle);
  vfs::Inode* inode;
  {
    const sync::RcuReadSection section;
    inode = &(*session_->files().Find(*handle))->inode();
  }
  change(*inode);
  vfs::CloseOperation close;
  close.handle = *handle;
  executor_.Execute(root, close);
  return Outcome();
}

Outcome CoreRunner::Run(const Step& step) {
  const vfs::Caller caller(*session_, actors_[step.actor]);
  vfs::FileSystem& file_system = mount_->file_system();
  switch (step.kind) {
    case Kind::kOpen: {
      vfs::OpenOperation operation;
      operation.dir = Directory(step.dir);
      operation.path = View(step.path);
      operation.flags = step.flags;
      operation.mode = step.mode;
      const Result<vfs::Handle> handle = executor_.Execute(caller, operation);
      if (handle.has_value()) {
        const auto [it, is_new] = handles_.try_emplace(step.result, *handle);
        if (!is_new) {
          vfs::CloseOperation close;
          close.handle = std::exchange(it->second, *handle);
          executor_.Execute(caller, close);
        }
      }
      return OutcomeOf(handle);
    }
    case Kind::kClose: {
      vfs::CloseOperation operation;
      operation.handle = Handle(step.dir);
      const Outcome outcome = OutcomeOf(executor_.Execute(caller, operation));
      // The handle's value is asked for once more later: it must stay closed.
      return outcome;
    }
    case Kind::kStat: {
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
    case Kind::kAccess: {
      vfs::AccessOperation operation;
      operation.dir = Directory(step.dir);
      operation.path = View(step.path);
      operation.mode = step.mode;
      operation.flags = step.flags;
      return OutcomeOf(executor_.Execute(caller, operation));
    }
    case Kind::kRead: {
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
    case Kind::kReadDirectory: {
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
    case Kind::kMakeDirectory: {
      vfs::MakeDirectoryOperation operation;
      operation.dir = Directory(step.dir);
      operation.path = View(step.path);
      operation.mode = step.mode;
      return OutcomeOf(executor_.Execute(caller, operation));
    }
    case Kind::kMakeNode:
    case Kind::kMakeSymlink:
      return ChangeParent(
          step, step.path, [&](vfs::Inode& directory, std::string_view name) {
            vfs::Inode::Init init;
            init.mode = step.kind == Kind::kMakeSymlink
                            ? abi::kSIflnk | 0777
                            : step.mode & ~session_->umask();
            init.ino = file_system.NextInodeNumber();
            init.atime = init.mtime = init.ctime = init.btime =
                Timestamp::Now();
            if (step.kind == Kind::kMakeSymlink) init.target = *step.path2;
            if ((directory.mode() & abi::kSIsgid) != 0)
              init.gid = directory.gid();
            return vfs::CreateChild(
                file_system, directory, name,
                vfs::PinnedInode::Adopt(
                    std::make_unique<vfs::Inode>(std::move(init)).release()));
          });
    case Kind::kMakeLink: {
      Outcome outcome;
      const Outcome found = ChangeInode(step, [&](vfs::Inode& inode) {
        outcome = ChangeParent(
            step, step.path2,
            [&](vfs::Inode& directory, std::string_view name) {
              return vfs::LinkChild(file_system, directory, name, inode);
            });
      });
      return found.error != 0 ? found : outcome;
    }
    case Kind::kUnlink: {
      vfs::UnlinkOperation operation;
      operation.dir = Directory(step.dir);
      operation.path = View(step.path);
      operation.flags = step.flags;
      return OutcomeOf(executor_.Execute(caller, operation));
    }
    case Kind::kRename: {
      vfs::RenameOperation operation;
      operation.old_dir = Directory(step.dir);
      operation.old_path = View(step.path);
      operation.new_dir = Directory(step.dir2);
      operation.new_path = View(step.path2);
      operation.flags = step.flags;
      return OutcomeOf(executor_.Execute(caller, operation));
    }
    case Kind::kChangeMode:
      return ChangeInode(step, [&](vfs::Inode& inode) {
        sync::SeqLockWriter walk(inode.walk_lock);
        sync::SeqLockWriter writer(inode.attribute_lock);
        inode.SetPermissions(step.mode);
        inode.SetChangeTime(Timestamp::Now());
      });
    case Kind::kChangeOwner:
      return ChangeInode(step, [&](vfs::Inode& inode) {
        sync::SeqLockWriter walk(inode.walk_lock);
        sync::SeqLockWriter writer(inode.attribute_lock);
        inode.SetOwner(step.uid, step.gid);
        if (!inode.IsDirectory()) {
          uint32_t permissions = inode.mode() & abi::kPermissionBits;
          permissions &= ~abi::kSIsuid;
          if ((permissions & abi::kSIxgrp) != 0) permissions &= ~abi::kSIsgid;
          inode.SetPermissions(permissions);
        }
        inode.SetChangeTime(Timestamp::Now());
      });
    case Kind::kRemount:
      return OutcomeOf(vfs_.mounts.SetReadOnly(*mount_, (step.flags & 1) != 0));
  }
  std::abort();
}

Listing CoreRunner::List() {
  Listing listing;
  const vfs::PathView root = session_->root();
  listing["/"] = *vfs::FillStatx(vfs_, root, kListingMask);
  ListBelow(vfs_, root, "/", listing);
  const sync::RcuReadSection section;
  for (const auto& [number, handle] : handles_) {
    const Result<vfs::File*> file = session_->files().Find(handle);
    if (!file.has_value()) continue;
    listing[fmt::format("@{}", number)] =
        *vfs::FillStatx(vfs_, (*file)->path(), kListingMask);
  }
  return listing;
}

}  // namespace vfsd::differential
