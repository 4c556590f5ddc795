#include "server/storage/host_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

namespace vfsd::storage {
namespace {

constexpr size_t kNamesBuffer = size_t{256} << 10;
constexpr unsigned kStatxMask = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;

// Where linux/magic.h of the build machine is older than the running kernel's.
constexpr uint32_t kConfigfsMagic = 0x62656570;
constexpr uint32_t kFusectlMagic = 0x65735543;
constexpr uint32_t kMqueueMagic = 0x19800202;

constexpr std::array<uint32_t, 18> kPseudoFileSystems = {
    PROC_SUPER_MAGIC,   SYSFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
    DEBUGFS_MAGIC,      TRACEFS_MAGIC,  SECURITYFS_MAGIC,   SELINUX_MAGIC,
    SMACK_MAGIC,        BPF_FS_MAGIC,   PSTOREFS_MAGIC,     EFIVARFS_MAGIC,
    DEVPTS_SUPER_MAGIC, BINFMTFS_MAGIC, NSFS_MAGIC,         kConfigfsMagic,
    kFusectlMagic,      kMqueueMagic,
};

// openat(2) of a directory, without touching its access time where that is
// allowed (to its owner and to root).
int OpenDirectory(int at, const char* path, int flags) {
  flags |= O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK;
  const int fd = openat(at, path, flags | O_NOATIME);
  return fd < 0 && errno == EPERM ? openat(at, path, flags) : fd;
}

HostResult<struct statx> Statx(int fd, const char* path, int flags) {
  struct statx result;
  if (statx(fd, path, flags | AT_NO_AUTOMOUNT, kStatxMask, &result) != 0) {
    return std::unexpected(errno);
  }
  return result;
}

// What getdents64(2) fills its buffer with.
struct DirectoryRecord {
  uint64_t ino;
  int64_t offset;
  uint16_t length;
  uint8_t type;
  char name[];
};

}  // namespace

HostDirectory& HostDirectory::operator=(HostDirectory&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = std::exchange(other.fd_, -1);
  }
  return *this;
}

void HostDirectory::Close() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

HostResult<HostDirectory> HostDirectory::OpenPath(const std::string& path) {
  const int fd = OpenDirectory(AT_FDCWD, path.c_str(), 0);
  if (fd < 0) return std::unexpected(errno);
  return HostDirectory(fd);
}

HostResult<HostDirectory> HostDirectory::OpenChild(
    const std::string& name) const {
  const int fd = OpenDirectory(fd_, name.c_str(), O_NOFOLLOW);
  if (fd < 0) return std::unexpected(errno);
  return HostDirectory(fd);
}

HostResult<struct statx> HostDirectory::StatChild(const char* name) const {
  return Statx(fd_, name, AT_SYMLINK_NOFOLLOW);
}

HostResult<struct statx> HostDirectory::StatSelf() const {
  return Statx(fd_, "", AT_EMPTY_PATH);
}

HostResult<std::string> HostDirectory::ReadLink(const char* name) const {
  std::array<char, PATH_MAX> target;
  const ssize_t size = readlinkat(fd_, name, target.data(), target.size());
  if (size < 0) return std::unexpected(errno);
  return std::string(target.data(), static_cast<size_t>(size));
}

bool HostDirectory::IsPseudoFileSystem() const {
  struct statfs result;
  if (fstatfs(fd_, &result) != 0) return false;
  return std::find(kPseudoFileSystems.begin(), kPseudoFileSystems.end(),
                   static_cast<uint32_t>(result.f_type)) !=
         kPseudoFileSystems.end();
}

HostResult<void> HostDirectory::ForEachName(
    std::vector<char>& buffer,
    absl::FunctionRef<void(const char* name)> take) const {
  buffer.resize(kNamesBuffer);
  for (;;) {
    const long size =
        syscall(SYS_getdents64, fd_, buffer.data(), buffer.size());
    if (size < 0) return std::unexpected(errno);
    if (size == 0) return {};
    for (long position = 0; position < size;) {
      const auto* const record =
          reinterpret_cast<const DirectoryRecord*>(buffer.data() + position);
      position += record->length;
      const std::string_view name = record->name;
      if (name != "." && name != "..") take(record->name);
    }
  }
}

}  // namespace vfsd::storage
