// What --import takes: DIR[:/mountpoint].
//
// The mount point begins after the last ":/", so that DIR may hold colons; a
// DIR that holds ":/" itself is given with its mount point ("/a:/b:/"). Without
// one it is "/". The mount point is an absolute path without "." and "..";
// slashes that repeat or trail do not count.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace vfsd::storage {

struct ImportSpec {
  std::string directory;   // on the server's disk; not empty
  std::string mountpoint;  // "/", or "/a/b"

  friend bool operator==(const ImportSpec&, const ImportSpec&) = default;
};

// Or what is wrong with it, for people.
std::expected<ImportSpec, std::string> ParseImportSpec(std::string_view text);

}  // namespace vfsd::storage
