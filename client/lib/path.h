// Putting paths into requests and getting names out of replies.
//
// vfs.v1 has a path as text where it is UTF-8 and as bytes where it is not, so
// that JSON tools show everyday paths and no name is lost. Absent is C's NULL,
// which is not the same as "". Free functions, no state.
#ifndef CLIENT_LIB_PATH_H_
#define CLIENT_LIB_PATH_H_

#include <optional>
#include <string>
#include <string_view>

#include "vfs/v1/vfs.pb.h"

namespace vfsclient {

// As RFC 3629 has it: no overlong forms, no surrogates, at most U+10FFFF.
bool IsUtf8(std::string_view bytes);

// For every request with a path_kind. nullopt leaves the path absent.
template <class Request>
void SetPath(std::optional<std::string_view> path, Request* request) {
  if (!path) {
    request->clear_path_kind();
  } else if (IsUtf8(*path)) {
    request->set_path(path->data(), path->size());
  } else {
    request->set_raw_path(path->data(), path->size());
  }
}

// The same for the two paths of a rename or a link.
template <class Request>
void SetOldPath(std::optional<std::string_view> path, Request* request) {
  if (!path) {
    request->clear_old_path_kind();
  } else if (IsUtf8(*path)) {
    request->set_old_path(path->data(), path->size());
  } else {
    request->set_raw_old_path(path->data(), path->size());
  }
}

template <class Request>
void SetNewPath(std::optional<std::string_view> path, Request* request) {
  if (!path) {
    request->clear_new_path_kind();
  } else if (IsUtf8(*path)) {
    request->set_new_path(path->data(), path->size());
  } else {
    request->set_raw_new_path(path->data(), path->size());
  }
}

// The name of an entry, whichever way it came.
const std::string& NameOf(const vfs::v1::DirectoryEntry& entry);

// "a" + "b" -> "a/b", "/" + "b" -> "/b".
std::string JoinPath(std::string_view directory, std::string_view name);

}  // namespace vfsclient

#endif  // CLIENT_LIB_PATH_H_
