#include "tests/bench/core/kernel_world.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>

#include "fmt/format.h"
#include "tests/bench/core/tree_shape.h"

namespace corebench {
namespace {

[[noreturn]] void Die(std::string_view what, std::string_view path) {
  fmt::print(stderr, "core_bench: {} {}: {}\n", what, path,
             std::strerror(errno));
  std::exit(1);
}

void WriteFile(const char* path, std::string_view text) {
  std::ofstream(path) << text;
}

// A mount namespace of our own; as root of a user namespace if need be.
bool EnterMountNamespace() {
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
    WriteFile("/proc/self/setgroups", "deny");
    WriteFile("/proc/self/uid_map", fmt::format("{0} {0} 1", uid));
    WriteFile("/proc/self/gid_map", fmt::format("{0} {0} 1", gid));
  }
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

std::string ReadFile(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void MakeFile(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                      S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH);
  if (fd < 0) Die("cannot make", path);
  close(fd);
}

}  // namespace

KernelWorld::KernelWorld() : version_(ReadFile("/proc/version")) {
  std::string directory = "/dev/shm/core-bench-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) Die("cannot make", directory);
  directory_ = directory;
  mounted_ = EnterMountNamespace() &&
             mount("tmpfs", directory_.c_str(), "tmpfs", MS_NOATIME,
                   "nr_inodes=0,size=1g,mode=755") == 0;
  place_ = mounted_ ? "a private tmpfs" : "a directory of /dev/shm";
  if (chdir(directory_.c_str()) != 0) Die("cannot enter", directory_);
}

KernelWorld::~KernelWorld() {
  std::error_code ignored;
  std::filesystem::current_path("/", ignored);
  if (mounted_) umount2(directory_.c_str(), MNT_DETACH);
  std::filesystem::remove_all(directory_, ignored);
}

void KernelWorld::MakeHotFiles() {
  std::filesystem::create_directories(kDeepDirectory);
  MakeFile(std::string(kDeepFile));
  MakeFile(std::string(kHotFile));
}

void KernelWorld::GrowTree(uint64_t files) {
  for (uint64_t i = 0; i < files; ++i) {
    const std::string path = TreeShape::FilePath(i);
    if (i % TreeShape::kFilesPerDirectory == 0)
      std::filesystem::create_directories(path.substr(0, path.rfind('/')));
    MakeFile(path);
  }
}

Loop KernelWorld::EmptySystemCall() {
  return Repeat([] { return syscall(SYS_getppid) >= 0; });
}

Loop KernelWorld::MakeLoop(Scenario scenario) {
  switch (scenario) {
    case Scenario::kOpenRo3:
      return Repeat([path = std::string(kHotFile)] {
        const int fd = open(path.c_str(), O_RDONLY);
        return fd >= 0 && close(fd) == 0;
      });
    case Scenario::kOpenNeg:
      return Repeat([path = std::string(kMissingFile)] {
        return open(path.c_str(), O_RDONLY) < 0 && errno == ENOENT;
      });
    case Scenario::kFstat:
    case Scenario::kStatxNull: {
      const int fd = open(std::string(kHotFile).c_str(), O_RDONLY | O_CLOEXEC);
      struct stat expected;
      if (fd < 0 || fstat(fd, &expected) != 0) Die("cannot open", kHotFile);
      const ino_t ino = expected.st_ino;
      if (scenario == Scenario::kFstat) {
        // What glibc makes of fstat() is newfstatat(fd, "", AT_EMPTY_PATH).
        return Repeat([fd, ino] {
          struct stat result;
          return fstat(fd, &result) == 0 && result.st_ino == ino;
        });
      }
      // Kernels before 6.11 want a path, "" at least.
      struct statx probe;
      const char* const path = syscall(SYS_statx, fd, nullptr, AT_EMPTY_PATH,
                                       STATX_BASIC_STATS, &probe) == 0
                                   ? nullptr
                                   : "";
      return Repeat([fd, path, ino] {
        struct statx result;
        return syscall(SYS_statx, fd, path, AT_EMPTY_PATH, STATX_BASIC_STATS,
                       &result) == 0 &&
               result.stx_ino == ino;
      });
    }
    case Scenario::kStatxPath: {
      struct stat expected;
      if (stat(std::string(kDeepFile).c_str(), &expected) != 0)
        Die("cannot stat", kDeepFile);
      return Repeat([path = std::string(kDeepFile), ino = expected.st_ino] {
        struct statx result;
        return statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &result) ==
                   0 &&
               result.stx_ino == ino;
      });
    }
    case Scenario::kProcRead:
      break;
  }
  return Repeat(
      [version = version_, buffer = std::vector<char>(kReadBytes)]() mutable {
        const int fd = open("/proc/version", O_RDONLY);
        if (fd < 0) return false;
        const ssize_t size = read(fd, buffer.data(), buffer.size());
        const bool right =
            size == static_cast<ssize_t>(version.size()) &&
            std::memcmp(buffer.data(), version.data(), version.size()) == 0;
        return close(fd) == 0 && right;
      });
}

Loop KernelWorld::StatPaths(const std::vector<std::string>& paths) {
  return Repeat([&paths, next = size_t{0}]() mutable {
    const std::string& path = paths[next];
    if (++next == paths.size()) next = 0;
    struct statx result;
    return statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &result) == 0 &&
           S_ISREG(result.stx_mode);
  });
}

}  // namespace corebench
