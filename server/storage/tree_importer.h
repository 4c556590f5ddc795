// The tree importer: a copy of a directory tree of the server's disk, as a new
// mem file system that the caller mounts where it wants it.
//
// What is kept: every type of file, permissions with set-id and sticky bits,
// owners, sizes of regular files and whether they have content, targets,
// device numbers, the three times and, where the host tells it, the time of
// birth (else that of the import); names as bytes, whatever they are. Names of
// one inode stay names of one inode. What is the new file system's own: inode
// numbers, link counts (names outside the tree do not count), sizes of
// directories.
//
// Where it goes: it stays in the mount of its root. A directory where something
// else is mounted is imported empty, with the attributes of what is mounted, as
// cp -x and rsync -x do; unless ImportOptions say otherwise. File systems of
// the kernel's own making (proc, sysfs, cgroup …) are never walked. Symbolic
// links are not followed, except the root itself.
//
// What fails on the way (a directory that may not be read, a file that goes
// meanwhile) is logged, counted and left out, and is no error: a directory that
// cannot be read is there, and empty. A tree that changes meanwhile is imported
// as it was met.
//
// Reads go through directory descriptors; depth costs neither stack nor, beyond
// a fixed number, descriptors.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/base/result.h"
#include "server/fs/mem/mem_file_system.h"
#include "server/storage/import_report.h"

namespace vfsd::storage {

struct ImportOptions {
  // Walk into other mounts below the root too.
  bool cross_file_systems = false;
  // Problems beyond this many are counted only.
  uint32_t max_logged_problems = 20;
  // Descriptors that are held open at a time, at least 2.
  uint32_t max_open_directories = 128;
};

struct ImportedTree {
  std::shared_ptr<mem::MemFileSystem> file_system;
  ImportReport report;
};

// Errors: the root cannot be opened (ENOENT, ENOTDIR, EACCES …), or is in a
// file system of the kernel's own making (EINVAL).
Result<ImportedTree> ImportTree(const std::string& root,
                                const ImportOptions& options = {});

}  // namespace vfsd::storage
