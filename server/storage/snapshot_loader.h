// SnapshotLoader: makes a mem file system of a snapshot file
// (snapshot_format.h).
#pragma once

#include <expected>
#include <string>

#include "server/storage/tree_importer.h"

namespace vfsd::storage {

// All of it, or nothing: the error is a sentence that says where the file is
// wrong. Inode numbers and directories' sizes are the new file system's own.
std::expected<ImportedTree, std::string> LoadSnapshot(const std::string& path);

}  // namespace vfsd::storage
