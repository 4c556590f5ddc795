// SnapshotWriter: writes a file system's tree to a snapshot file
// (snapshot_format.h).
#pragma once

#include <expected>
#include <string>

#include "server/storage/import_report.h"
#include "server/vfs/file_system.h"

namespace vfsd::storage {

// What is in `file_system` now; each directory is written as it is at one
// moment. The file appears whole or not at all: it is written beside `path` and
// put in its place. The error is a sentence.
std::expected<ImportReport, std::string> WriteSnapshot(
    vfs::FileSystem& file_system, const std::string& path);

}  // namespace vfsd::storage
