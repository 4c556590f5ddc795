#include "server/fs/proc/host_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "absl/cleanup/cleanup.h"

namespace vfsd::proc {
namespace {

// More than the largest cpuinfo, so that a path that is no such file cannot
// fill the memory.
constexpr size_t kMaxSize = size_t{16} << 20;

}  // namespace

std::optional<std::string> ReadHostFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  const absl::Cleanup close_fd = [fd] { close(fd); };
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < kMaxSize) {
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return std::nullopt;
    if (size == 0) break;
    text.append(buffer.data(), static_cast<size_t>(size));
  }
  if (text.empty()) return std::nullopt;
  return text;
}

}  // namespace vfsd::proc
