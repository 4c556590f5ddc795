#include "tests/differential/vfsd_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "server/fs/mem/mem_file_system.h"
#include "server/sync/rcu.h"
#include "server/vfs/dentry.h"
#include "server/vfs/stat.h"

namespace vfsd::differential {
namespace {

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

void VfsdRunner::Begin(const Program& program) {
  // A file system of the program's own, on top of the root: a session's root is
  // what is topmost there.
  vfs::Vfs& core = vfs();
  mounts_before_ = core.mounts.size();
  no_direct_io_ = program.oracle == Oracle::kRamfs;
  mem::RootOptions root;
  root.mode = program.root_mode;
  const Result<vfs::Mount*> mount = core.mounts.MountOn(
      std::make_shared<mem::MemFileSystem>(root), core.top(),
      vfs::PinnedInode::Share(*core.top().root()), "/",
      {.no_direct_io = no_direct_io_});
  if (!mount.has_value()) std::abort();
  session_ = OpenSession(program);
}

std::string VfsdRunner::End() {
  handles_.Clear();
  session_.reset();
  std::string wrong = CloseSession();
  vfs::Vfs& core = vfs();
  for (;;) {
    uint64_t last;
    {
      const sync::RcuReadSection section;
      const std::vector<vfs::Mount*> mounts = core.mounts.List();
      if (mounts.size() <= mounts_before_) break;
      last = mounts.back()->id();
      if (mounts.back()->writers() != 0) {
        wrong =
            fmt::format("{} writers left on a mount", mounts.back()->writers());
      }
    }
    // Fails while anything still refers to the mount.
    const Errno error = core.mounts.UnmountById(last, /*lazy=*/false);
    if (error == Errno::kOk) continue;
    wrong = fmt::format("unmount after the end: {}", ErrnoName(error));
    core.mounts.UnmountById(last, /*lazy=*/true);
  }
  if (core.files.nr_files() != 0)
    wrong = fmt::format("nr_files is {} after the end", core.files.nr_files());
  return wrong;
}

Operation VfsdRunner::OperationOf(const Step& step) {
  if (step.kind == Kind::kRead)
    read_buffer_.assign(static_cast<size_t>(step.size), '\0');
  return ToOperation(step, handles_, read_buffer_);
}

Outcome VfsdRunner::Run(const Step& step) {
  if (ChangesMounts(step.kind)) return ChangeMounts(step);
  Operation operation = OperationOf(step);
  Outcome outcome = Execute(operation, step.actor);
  if (outcome.error != 0) return outcome;
  if (auto* const read = std::get_if<vfs::ReadDirectoryOperation>(&operation)) {
    while (outcome.next_cursor != 0) {
      read->cursor = outcome.next_cursor;
      Outcome page = Execute(operation, step.actor);
      if (page.error != 0) return page;
      outcome.next_cursor = page.next_cursor;
      std::move(page.entries.begin(), page.entries.end(),
                std::back_inserter(outcome.entries));
    }
    std::sort(outcome.entries.begin(), outcome.entries.end(),
              [](const ListedEntry& a, const ListedEntry& b) {
                return a.name < b.name;
              });
  }
  if (outcome.handle != 0) {
    const std::optional<vfs::Handle> earlier =
        handles_.Set(step.result, outcome.handle);
    if (earlier.has_value()) {
      vfs::CloseOperation close;
      close.handle = *earlier;
      Execute(close, step.actor);
    }
  }
  return outcome;
}

Listing VfsdRunner::List() {
  Listing listing;
  const vfs::PathView root = session_->root();
  listing["/"] = *vfs::FillStatx(vfs(), root, kListingMask);
  ListBelow(vfs(), root, "/", listing);
  const sync::RcuReadSection section;
  for (const auto& [number, handle] : handles_.all()) {
    const auto file = session_->files().Look(handle);
    if (!file.has_value()) continue;
    listing[fmt::format("@{}", number)] =
        *vfs::FillStatx(vfs(), file->path, kListingMask);
  }
  return listing;
}

}  // namespace vfsd::differential
