// The files that a load uses: found in the tree that the server serves.
//
// The tree is walked from a given directory, in random order (with a seed, so
// that two runs use the same files), taking a few files of each directory, so
// that depths are mixed as in the tree. /proc is left out: its files change.
// A plain value once made.
#ifndef CLIENT_LOAD_FILE_CATALOG_H_
#define CLIENT_LOAD_FILE_CATALOG_H_

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "client/lib/error.h"
#include "client/lib/session.h"
#include "client/load/unit.h"

namespace vfsload {

struct CatalogOptions {
  // Where to start.
  std::string root = "/";
  // Enough regular files.
  size_t max_files = 1000;
  // Give up looking after so many directories.
  size_t max_directories = 2000;
  uint64_t seed = 1;
};

struct CatalogFile {
  std::string path;
  StatExpectation stat;
};

struct CatalogDirectory {
  std::string path;
  // Of its first page, which holds all its entries.
  DirectoryDigest digest;
};

struct FileCatalog {
  // Regular files that this caller may read.
  std::vector<CatalogFile> files;
  // Directories whose entries fit one page, without the root of the walk (loads
  // make things there).
  std::vector<CatalogDirectory> directories;
  // Directories that could not be listed.
  size_t unreadable_directories = 0;
};

// The directory that `path` is in.
std::string ParentOf(const std::string& path);

// An error is one of the walk's root; further down, what cannot be read is left
// out.
std::expected<FileCatalog, vfsclient::Error> DiscoverFiles(
    const vfsclient::Session& session, const CatalogOptions& options);

}  // namespace vfsload

#endif  // CLIENT_LOAD_FILE_CATALOG_H_
