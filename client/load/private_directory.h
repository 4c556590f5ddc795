// A directory on the server that this run made for itself, and removes.
//
// Loads that change the namespace work in it, so they meet nobody else's files.
// Removal takes everything that is in it, whatever state the load left. Owned
// by the phase that needs it; its session must outlive it. One thread at a
// time.
#ifndef CLIENT_LOAD_PRIVATE_DIRECTORY_H_
#define CLIENT_LOAD_PRIVATE_DIRECTORY_H_

#include <cstdint>
#include <expected>
#include <string>

#include "client/lib/error.h"
#include "client/lib/session.h"

namespace vfsload {

class PrivateDirectory {
 public:
  // Makes parent/vfsload-<name>.
  static std::expected<PrivateDirectory, vfsclient::Error> Make(
      const vfsclient::Session& session, const std::string& parent,
      const std::string& name);

  PrivateDirectory(PrivateDirectory&& other) noexcept;
  PrivateDirectory& operator=(PrivateDirectory&&) = delete;
  ~PrivateDirectory();

  const std::string& path() const { return path_; }

  // Makes an empty file or a directory in it; `name` may have slashes.
  std::expected<void, vfsclient::Error> AddFile(const std::string& name);
  std::expected<void, vfsclient::Error> AddDirectory(const std::string& name);

  // Removes it with all that is in it. The destructor does so too, but cannot
  // say what went wrong.
  std::expected<void, vfsclient::Error> Remove();
  // Instead, when the server is gone.
  void Abandon() { path_.clear(); }

 private:
  PrivateDirectory(const vfsclient::Session& session, std::string path);

  const vfsclient::Session* session_;
  std::string path_;  // empty: nothing to remove
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_PRIVATE_DIRECTORY_H_
