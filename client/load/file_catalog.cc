#include "client/load/file_catalog.h"

#include <algorithm>
#include <random>
#include <utility>

#include "client/lib/path.h"

namespace vfsload {
namespace {

constexpr uint32_t kFormatMask = 0170000, kRegular = 0100000,
                   kDirectory = 0040000;
constexpr uint32_t kReadPermission = 4;  // R_OK

// Of one directory, so that a single large one does not make up the catalog.
constexpr size_t kFilesADirectory = 16;

// One directory's share of the catalog; its subdirectories go to `pending`.
void TakeEntries(const vfsclient::Session& session,
                 const CatalogOptions& options, const std::string& directory,
                 vfs::v1::ReadDirectoryResponse& page, std::mt19937_64& random,
                 FileCatalog* catalog, std::vector<std::string>* pending) {
  std::vector<const vfs::v1::DirectoryEntry*> files;
  for (const auto& entry : page.entries()) {
    const uint32_t format = entry.attributes().mode() & kFormatMask;
    if (format == kRegular) {
      files.push_back(&entry);
    } else if (format == kDirectory) {
      std::string path =
          vfsclient::JoinPath(directory, vfsclient::NameOf(entry));
      if (path != "/proc") pending->push_back(std::move(path));
    }
  }
  std::ranges::shuffle(files, random);
  size_t taken = 0;
  for (const vfs::v1::DirectoryEntry* entry : files) {
    if (taken == kFilesADirectory ||
        catalog->files.size() == options.max_files) {
      break;
    }
    std::string path =
        vfsclient::JoinPath(directory, vfsclient::NameOf(*entry));
    if (!session.Access(path, kReadPermission)) continue;
    catalog->files.push_back(
        {std::move(path), StatExpectation::Of(entry->attributes())});
    ++taken;
  }
}

}  // namespace

std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::expected<FileCatalog, vfsclient::Error> DiscoverFiles(
    const vfsclient::Session& session, const CatalogOptions& options) {
  std::mt19937_64 random(options.seed);
  FileCatalog catalog;
  std::vector<std::string> pending = {options.root};
  for (size_t visited = 0;
       !pending.empty() && visited < options.max_directories &&
       catalog.files.size() < options.max_files;
       ++visited) {
    // The next one at random: neither all shallow nor all from one corner.
    std::swap(pending[random() % pending.size()], pending.back());
    const std::string directory = std::move(pending.back());
    pending.pop_back();
    const auto listed =
        session.ReadDirectory(directory, /*with_attributes=*/true,
                              [&](vfs::v1::ReadDirectoryResponse& page) {
                                TakeEntries(session, options, directory, page,
                                            random, &catalog, &pending);
                                if (page.next_cursor() == 0 && visited > 0) {
                                  catalog.directories.push_back(
                                      {directory, DirectoryDigest::Of(page)});
                                }
                                return false;  // one page is enough
                              });
    if (listed) continue;
    if (visited == 0 ||
        listed.error().kind() != vfsclient::Error::Kind::kErrno) {
      return std::unexpected(listed.error());
    }
    ++catalog.unreadable_directories;
  }
  return catalog;
}

}  // namespace vfsload
