// A directory of the host, as an open descriptor: the system calls that an
// import needs, always relative to a descriptor, so that no path is too long
// and no symbolic link is followed on the way.
//
// A value that owns its descriptor. Not thread safe.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"

namespace vfsd::storage {

// The host's errno, whatever it is.
using HostError = int;
template <typename T>
using HostResult = std::expected<T, HostError>;

class HostDirectory {
 public:
  HostDirectory() = default;
  HostDirectory(HostDirectory&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)) {}
  HostDirectory& operator=(HostDirectory&& other) noexcept;
  ~HostDirectory() { Close(); }

  // Follows symbolic links.
  static HostResult<HostDirectory> OpenPath(const std::string& path);
  // Does not follow one.
  HostResult<HostDirectory> OpenChild(const std::string& name) const;

  bool is_open() const { return fd_ >= 0; }
  void Close();

  // statx(2) with everything that an import keeps. Of a name in it, of itself.
  HostResult<struct statx> StatChild(const char* name) const;
  HostResult<struct statx> StatSelf() const;
  // readlinkat(2).
  HostResult<std::string> ReadLink(const char* name) const;
  // A kernel's file system without files of its own behind it (proc, sysfs,
  // cgroup …): walking it is never what was meant.
  bool IsPseudoFileSystem() const;

  // Gives every name but "." and ".." to `take`, in the host's order, up to an
  // error. `buffer` is scratch memory that can be used again.
  HostResult<void> ForEachName(
      std::vector<char>& buffer,
      absl::FunctionRef<void(const char* name)> take) const;

 private:
  explicit HostDirectory(int fd) : fd_(fd) {}
  int fd_ = -1;
};

}  // namespace vfsd::storage
