#include "server/main/namespace_setup.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "server/fs/mem/mem_file_system.h"
#include "server/storage/snapshot_loader.h"
#include "server/storage/tree_importer.h"
#include "server/vfs/credentials.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/new_inode.h"
#include "server/vfs/root_session.h"
#include "server/vfs/walk.h"

namespace vfsd {
namespace {

std::string Describe(Errno error) {
  return std::string(ErrnoText(error)) + " (" + std::string(ErrnoName(error)) +
         ")";
}

// Walks in as root while the namespace is built.
Result<vfs::PinnedPath> FindDirectory(vfs::Vfs& vfs, vfs::Session& root,
                                      std::string_view path) {
  const vfs::WalkRequest request{
      .vfs = vfs,
      .session = root,
      .credentials = *root.credentials(),
      .dir = std::nullopt,
      .path = path,
      .flags = vfs::kWalkFollow | vfs::kWalkDirectory,
      .resolve = 0};
  return vfs::Walker(request).Resolve();
}

Errno MakeDirectory(const vfs::PinnedPath& parent, std::string_view name) {
  vfs::FileSystem& file_system = parent.mount().file_system();
  return vfs::CreateChild(
      file_system, parent.inode(), name,
      vfs::MakeInode(vfs::NewDirectory(file_system, 0755, Timestamp::Now())));
}

}  // namespace

std::expected<std::vector<PlannedMount>, std::string> ImportTrees(
    const std::vector<storage::ImportSpec>& imports,
    const std::vector<storage::ImportSpec>& snapshots) {
  std::vector<PlannedMount> mounts;
  for (const storage::ImportSpec& spec : snapshots) {
    spdlog::info("loading snapshot {} at {}", spec.directory, spec.mountpoint);
    std::expected<storage::ImportedTree, std::string> tree =
        storage::LoadSnapshot(spec.directory);
    if (!tree.has_value()) return std::unexpected(std::move(tree.error()));
    spdlog::info("loaded {}: {}", spec.directory,
                 storage::ImportReportText(tree->report));
    mounts.push_back({std::move(tree->file_system), spec.mountpoint});
  }
  for (const storage::ImportSpec& spec : imports) {
    spdlog::info("importing {} at {}", spec.directory, spec.mountpoint);
    Result<storage::ImportedTree> tree = storage::ImportTree(spec.directory);
    if (!tree.has_value()) {
      return std::unexpected("cannot import " + spec.directory + ": " +
                             Describe(tree.error()));
    }
    spdlog::info("imported {}: {}", spec.directory,
                 storage::ImportReportText(tree->report));
    mounts.push_back({std::move(tree->file_system), spec.mountpoint});
  }
  // What goes to "/" first, whatever the order of the options.
  std::ranges::stable_sort(mounts, {}, [](const PlannedMount& mount) {
    return mount.mountpoint == "/" ? 0 : 1;
  });
  if (mounts.empty() || mounts.front().mountpoint != "/") {
    mounts.insert(mounts.begin(),
                  {std::make_shared<mem::MemFileSystem>(), "/"});
  }
  return mounts;
}

std::expected<void, std::string> MountAt(vfs::Vfs& vfs,
                                         const PlannedMount& mount) {
  vfs::RootSession root(vfs);
  const auto find = [&](std::string_view prefix) {
    return FindDirectory(vfs, root.session(), prefix);
  };
  const std::string& path = mount.mountpoint;
  const auto fail = [&](Errno error) {
    return std::unexpected("cannot mount at " + path + ": " + Describe(error));
  };
  Result<vfs::PinnedPath> directory = find("/");
  for (size_t end = 0;
       directory.has_value() && end < path.size() && path != "/";) {
    const size_t start = end + 1;
    end = std::min(path.find('/', start), path.size());
    const std::string_view prefix = std::string_view(path).substr(0, end);
    Result<vfs::PinnedPath> next = find(prefix);
    if (!next.has_value() && next.error() == Errno::kENOENT) {
      const Errno error = MakeDirectory(
          *directory, std::string_view(path).substr(start, end - start));
      if (error != Errno::kOk) return fail(error);
      next = find(prefix);
    }
    directory = std::move(next);
  }
  if (!directory.has_value()) return fail(directory.error());
  const Result<vfs::Mount*> mounted =
      vfs.mounts.MountOn(mount.file_system, directory->mount(),
                         vfs::PinnedInode::Share(directory->inode()), path, {});
  if (!mounted.has_value()) return fail(mounted.error());
  return {};
}

}  // namespace vfsd
