// What clients find when the server starts: a mem file system
// or an imported tree at "/", further imported trees at their mount points, and
// proc at /proc.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "server/storage/import_spec.h"
#include "server/vfs/file_system.h"
#include "server/vfs/vfs.h"

namespace vfsd {

// A file system and where it goes.
struct PlannedMount {
  std::shared_ptr<vfs::FileSystem> file_system;
  std::string mountpoint;  // "/" or "/a/b"
};

// Reads the trees, in order. The first element is for "/" always: an empty mem
// file system unless a tree goes there. The error is a sentence.
// snapshots: files in `directory`'s place; they come before the imports.
std::expected<std::vector<PlannedMount>, std::string> ImportTrees(
    const std::vector<storage::ImportSpec>& imports,
    const std::vector<storage::ImportSpec>& snapshots = {});

// Mounts on a path; what is missing of it is made, as directories of root with
// mode 0755. The error is a sentence.
std::expected<void, std::string> MountAt(vfs::Vfs& vfs,
                                         const PlannedMount& mount);

}  // namespace vfsd
