#include "client/load/private_directory.h"

#include <utility>
#include <vector>

#include "client/lib/path.h"

namespace vfsload {
namespace {

using vfsclient::Error;

constexpr uint32_t kDirectoryType = 4;  // DT_DIR

// Empties and removes. Depth is what the load made: a few levels.
std::expected<void, Error> RemoveTree(const vfsclient::Session& session,
                                      const std::string& directory) {
  std::vector<std::pair<std::string, uint32_t>> entries;
  const auto listed = session.ReadDirectory(
      directory, /*with_attributes=*/false,
      [&](vfs::v1::ReadDirectoryResponse& page) {
        for (const auto& entry : page.entries()) {
          entries.emplace_back(vfsclient::NameOf(entry), entry.type());
        }
        return true;
      });
  if (!listed) return listed;
  for (const auto& [name, type] : entries) {
    const std::string path = vfsclient::JoinPath(directory, name);
    const auto removed = type == kDirectoryType ? RemoveTree(session, path)
                                                : session.Unlink(path);
    if (!removed) return removed;
  }
  return session.Unlink(directory, vfs::v1::AT_FLAG_AT_REMOVEDIR);
}

}  // namespace

std::expected<PrivateDirectory, Error> PrivateDirectory::Make(
    const vfsclient::Session& session, const std::string& parent,
    const std::string& name) {
  std::string path = vfsclient::JoinPath(parent, "vfsload-" + name);
  const auto made = session.MakeDirectory(path, 0755);
  if (!made) return std::unexpected(made.error());
  return PrivateDirectory(session, std::move(path));
}

PrivateDirectory::PrivateDirectory(const vfsclient::Session& session,
                                   std::string path)
    : session_(&session), path_(std::move(path)) {}

PrivateDirectory::PrivateDirectory(PrivateDirectory&& other) noexcept
    : session_(other.session_), path_(std::exchange(other.path_, {})) {}

PrivateDirectory::~PrivateDirectory() { static_cast<void>(Remove()); }

std::expected<void, Error> PrivateDirectory::AddFile(const std::string& name) {
  const auto handle = session_->Open(
      vfsclient::JoinPath(path_, name),
      vfs::v1::OPEN_FLAG_O_CREAT | vfs::v1::OPEN_FLAG_O_WRONLY, 0644);
  if (!handle) return std::unexpected(handle.error());
  return session_->Close(*handle);
}

std::expected<void, Error> PrivateDirectory::AddDirectory(
    const std::string& name) {
  return session_->MakeDirectory(vfsclient::JoinPath(path_, name), 0755);
}

std::expected<void, Error> PrivateDirectory::Remove() {
  if (path_.empty()) return {};
  return RemoveTree(*session_, std::exchange(path_, {}));
}

}  // namespace vfsload
