// Imports real directories, and compares what the new file system says of every
// name with what the host says.

#include "server/storage/tree_importer.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/fs/world.h"

namespace vfsd::storage {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using vfsd::testing::World;
using vfsd::testing::WorldOptions;
namespace abi = vfs::linux_abi;

class TreeImporter : public ::testing::Test {
 protected:
  TreeImporter() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "vfsd_import_XXXXXX")
            .string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    EXPECT_EQ(chmod(root_.c_str(), 0755), 0);
  }
  ~TreeImporter() override {
    std::error_code error;
    std::filesystem::remove_all(root_, error);
    EXPECT_FALSE(error) << error.message();
  }

  std::string Host(const std::string& name) const { return root_ + "/" + name; }

  void MakeFile(const std::string& name, std::string_view content = "",
                mode_t mode = 0644) {
    const int fd =
        open(Host(name).c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, mode);
    ASSERT_GE(fd, 0) << name << ": " << std::strerror(errno);
    EXPECT_EQ(write(fd, content.data(), content.size()),
              static_cast<ssize_t>(content.size()));
    EXPECT_EQ(close(fd), 0);
    EXPECT_EQ(chmod(Host(name).c_str(), mode), 0);
  }
  void MakeDirectory(const std::string& name, mode_t mode = 0755) {
    ASSERT_EQ(mkdir(Host(name).c_str(), 0700), 0) << name;
    EXPECT_EQ(chmod(Host(name).c_str(), mode), 0);
  }
  void MakeSocket(const std::string& name) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = Host(name);
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
              0);
    close(fd);
  }
  void SetTimes(const std::string& name, timespec atime, timespec mtime) {
    const std::array times = {atime, mtime};
    EXPECT_EQ(utimensat(AT_FDCWD, Host(name).c_str(), times.data(),
                        AT_SYMLINK_NOFOLLOW),
              0);
  }

  struct statx HostStat(const std::string& path) const {
    struct statx stat{};
    EXPECT_EQ(::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW,
                      STATX_BASIC_STATS | STATX_BTIME, &stat),
              0)
        << path;
    return stat;
  }

  // A world with the imported tree at its top.
  std::unique_ptr<World> MakeWorld(ImportedTree tree) {
    WorldOptions options;
    options.top = std::move(tree.file_system);
    return std::make_unique<World>(std::move(options));
  }

  // Outlives the trees and worlds of the test.
  const vfsd::testing::ObjectBaseline baseline_;
  std::string root_;
};

void ExpectTime(Timestamp actual, const statx_timestamp& expected,
                const std::string& what) {
  EXPECT_EQ(actual.seconds(), expected.tv_sec) << what;
  EXPECT_EQ(actual.nanoseconds(), expected.tv_nsec) << what;
}

// Everything that an import keeps. `host` was taken before the import, whose
// reading may change a directory's access time.
void ExpectSame(const vfs::Statx& actual, const struct statx& host,
                const std::string& path) {
  EXPECT_EQ(actual.mode, host.stx_mode) << path;
  EXPECT_EQ(actual.uid, host.stx_uid) << path;
  EXPECT_EQ(actual.gid, host.stx_gid) << path;
  ExpectTime(actual.atime, host.stx_atime, path + " atime");
  ExpectTime(actual.mtime, host.stx_mtime, path + " mtime");
  ExpectTime(actual.ctime, host.stx_ctime, path + " ctime");
  if ((host.stx_mask & STATX_BTIME) != 0) {
    EXPECT_NE(actual.mask & abi::kStatxBtime, 0U) << path;
    ExpectTime(actual.btime, host.stx_btime, path + " btime");
  }
  if (!S_ISDIR(host.stx_mode)) {
    EXPECT_EQ(actual.size, host.stx_size) << path;
    EXPECT_EQ(actual.nlink, host.stx_nlink) << path;
  }
  if (S_ISREG(host.stx_mode)) {
    EXPECT_EQ(actual.blocks != 0, host.stx_blocks != 0) << path;
  }
  EXPECT_EQ(actual.rdev_major, host.stx_rdev_major) << path;
  EXPECT_EQ(actual.rdev_minor, host.stx_rdev_minor) << path;
}

TEST_F(TreeImporter, KeepsEverythingOfEveryType) {
  MakeFile("empty");
  MakeFile("content", "hello", 0600);
  MakeFile("setuid", "x", 06755);
  MakeFile("none", "", 0000);
  MakeFile(std::string(255, 'n'));
  MakeFile("\xff\xfe not utf-8 \x01\n");
  MakeFile("sparse");
  ASSERT_EQ(truncate(Host("sparse").c_str(), off_t{5} << 32), 0);
  MakeDirectory("sticky", 01777);
  MakeDirectory("setgid", 02750);
  MakeDirectory("deep");
  MakeDirectory("deep/deeper");
  MakeFile("deep/deeper/leaf", "leaf");
  ASSERT_EQ(symlink("content", Host("link").c_str()), 0);
  ASSERT_EQ(symlink("/nowhere/\xff", Host("dangling").c_str()), 0);
  ASSERT_EQ(symlink(std::string(4000, 't').c_str(), Host("long").c_str()), 0);
  ASSERT_EQ(symlink("..", Host("deep/up").c_str()), 0);
  ASSERT_EQ(mkfifo(Host("fifo").c_str(), 0640), 0);
  MakeSocket("socket");
  const bool devices =
      mknod(Host("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) == 0 &&
      mknod(Host("disk").c_str(), S_IFBLK | 0660, makedev(259, 70000)) == 0;
  if (!devices) {
    fmt::print("without device nodes: they cannot be made here ({})\n",
               std::strerror(errno));
  }
  const bool owners = chown(Host("content").c_str(), 1234, 5678) == 0 &&
                      lchown(Host("link").c_str(), 70000, 80000) == 0;
  if (!owners) fmt::print("without foreign owners: {}\n", std::strerror(errno));
  // Listed first: that changes the access times of directories.
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(root_)) {
    paths.push_back(entry.path().string().substr(root_.size()));
  }
  SetTimes("content", {1'000'000'000, 123'456'789}, {999'999'999, 1});
  SetTimes("empty", {-1'000'000, 500'000'000}, {-1, 999'999'999});
  SetTimes("link", {11, 12}, {13, 14});
  SetTimes("deep", {21, 22}, {23, 24});
  std::map<std::string, struct statx> host;
  host["/"] = HostStat(root_);
  for (const std::string& path : paths) host[path] = HostStat(root_ + path);

  auto tree = ImportTree(root_);
  ASSERT_TRUE(tree.has_value()) << ErrnoName(tree.error());
  const ImportReport report = tree->report;
  EXPECT_EQ(report.regular_files, 8U);
  EXPECT_EQ(report.directories, 5U);
  EXPECT_EQ(report.symlinks, 4U);
  EXPECT_EQ(report.fifos, 1U);
  EXPECT_EQ(report.sockets, 1U);
  EXPECT_EQ(report.character_devices, devices ? 1U : 0U);
  EXPECT_EQ(report.block_devices, devices ? 1U : 0U);
  EXPECT_EQ(report.hard_links, 0U);
  EXPECT_EQ(report.names(), host.size() - 1);
  EXPECT_EQ(report.content_bytes, 5U + 1U + (uint64_t{5} << 32) + 4U);
  EXPECT_THAT(report.problems, IsEmpty());
  uint64_t name_bytes = 0;
  for (const auto& [path, stat] : host) {
    if (path != "/") name_bytes += path.size() - path.rfind('/') - 1;
  }
  EXPECT_EQ(report.name_bytes, name_bytes);

  // The world makes a directory of its own, which changes the root's times.
  {
    const vfs::InodeAttributes top = tree->file_system->root().ReadAttributes();
    ExpectTime(top.mtime, host["/"].stx_mtime, "/ mtime");
    ExpectTime(top.ctime, host["/"].stx_ctime, "/ ctime");
    ExpectTime(top.atime, host["/"].stx_atime, "/ atime");
    EXPECT_EQ(top.mode, host["/"].stx_mode);
    EXPECT_EQ(top.uid, host["/"].stx_uid);
  }
  const auto world = MakeWorld(*std::move(tree));
  for (const auto& [path, stat] : host) {
    if (path == "/") continue;
    const auto actual = world->Stat(path);
    ASSERT_TRUE(actual.has_value()) << path << ErrnoName(actual.error());
    ExpectSame(*actual, stat, path);
  }
  EXPECT_EQ(world->Stat("/deep")->size, 40U + 2 * 20U);
  EXPECT_EQ(world->Stat("/deep")->nlink, 3U);
  // Links lead where they did.
  EXPECT_EQ(world->Stat("/link", 0)->size, 5U);
  EXPECT_EQ(world->Stat("/dangling", 0), Fail(Errno::kENOENT));
  EXPECT_EQ(world->Stat("/deep/up/content")->size, 5U);
  std::vector<std::string> names = world->Names("/deep");
  std::sort(names.begin(), names.end());
  EXPECT_THAT(names, ElementsAre("deeper", "up"));
}

TEST_F(TreeImporter, KeepsHardLinks) {
  MakeDirectory("a");
  MakeDirectory("b");
  MakeFile("a/one", "content");
  ASSERT_EQ(link(Host("a/one").c_str(), Host("a/two").c_str()), 0);
  ASSERT_EQ(link(Host("a/one").c_str(), Host("b/three").c_str()), 0);
  ASSERT_EQ(symlink("target", Host("a/symlink").c_str()), 0);
  ASSERT_EQ(link(Host("a/symlink").c_str(), Host("b/symlink").c_str()), 0);
  MakeFile("a/half");
  // Its other name is not in the tree.
  const std::string outside = root_ + ".outside";
  ASSERT_EQ(link(Host("a/half").c_str(), outside.c_str()), 0);
  const struct statx stat = HostStat(Host("a/one"));

  auto tree = ImportTree(root_);
  unlink(outside.c_str());
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->report.regular_files, 2U);
  EXPECT_EQ(tree->report.symlinks, 1U);
  EXPECT_EQ(tree->report.hard_links, 3U);
  EXPECT_EQ(tree->report.names(), 8U);
  const auto world = MakeWorld(*std::move(tree));
  const auto one = world->Stat("/a/one");
  ASSERT_TRUE(one.has_value());
  ExpectSame(*one, stat, "a/one");
  EXPECT_EQ(one->nlink, 3U);
  EXPECT_EQ(world->Stat("/a/two")->ino, one->ino);
  EXPECT_EQ(world->Stat("/b/three")->ino, one->ino);
  EXPECT_EQ(world->Stat("/a/symlink")->nlink, 2U);
  EXPECT_EQ(world->Stat("/b/symlink")->ino, world->Stat("/a/symlink")->ino);
  EXPECT_EQ(world->Stat("/a/half")->nlink, 1U);
  // One name less, and the others stay.
  vfs::UnlinkOperation unlink_one;
  unlink_one.path = "/a/one";
  ASSERT_TRUE(world->executor.Execute(vfs::Caller(*world->session), unlink_one)
                  .has_value());
  EXPECT_EQ(world->Stat("/b/three")->nlink, 2U);
}

TEST_F(TreeImporter, NeedsADirectory) {
  MakeFile("file");
  const auto error_of = [](const std::string& path) {
    const auto tree = ImportTree(path);
    return tree.has_value() ? Errno::kOk : tree.error();
  };
  EXPECT_EQ(error_of(Host("missing")), Errno::kENOENT);
  EXPECT_EQ(error_of(Host("file")), Errno::kENOTDIR);
  EXPECT_EQ(error_of(Host("file/below")), Errno::kENOTDIR);
  EXPECT_EQ(error_of(""), Errno::kENOENT);
  EXPECT_EQ(error_of(Host(std::string(256, 'n'))), Errno::kENAMETOOLONG);
}

TEST_F(TreeImporter, FollowsALinkThatIsTheRoot) {
  MakeDirectory("directory");
  MakeFile("directory/file");
  ASSERT_EQ(symlink("directory", Host("link").c_str()), 0);
  const auto tree = ImportTree(Host("link"));
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->report.regular_files, 1U);
}

TEST_F(TreeImporter, DoesNotImportTheKernelsOwnFileSystems) {
  for (const char* path : {"/proc", "/proc/self", "/sys"}) {
    if (access(path, F_OK) != 0) {
      fmt::print("without {}: it is not here\n", path);
      continue;
    }
    const auto tree = ImportTree(path);
    ASSERT_FALSE(tree.has_value()) << path;
    EXPECT_EQ(tree.error(), Errno::kEINVAL) << path;
  }
}

// Everybody else than root meets places that may not be read.
class UnprivilegedScope {
 public:
  UnprivilegedScope() : euid_(geteuid()) {
    if (euid_ == 0) {
      EXPECT_EQ(seteuid(65534), 0);
    }
  }
  ~UnprivilegedScope() {
    if (euid_ == 0) {
      EXPECT_EQ(seteuid(0), 0);
    }
  }
  UnprivilegedScope(const UnprivilegedScope&) = delete;
  UnprivilegedScope& operator=(const UnprivilegedScope&) = delete;

 private:
  const uid_t euid_;
};

TEST_F(TreeImporter, LeavesOutWhatCannotBeReadAndSaysSo) {
  MakeFile("readable", "x", 0444);
  MakeFile("unreadable", "x", 0000);  // only its content is
  MakeDirectory("closed");
  MakeFile("closed/inside");
  MakeDirectory("listed");
  MakeFile("listed/one");
  MakeFile("listed/two");
  ASSERT_EQ(chmod(Host("closed").c_str(), 0000), 0);
  ASSERT_EQ(chmod(Host("listed").c_str(), 0444), 0);
  Result<ImportedTree> tree = Fail(Errno::kEIO);
  {
    const UnprivilegedScope unprivileged;
    tree = ImportTree(root_);
  }
  ASSERT_EQ(chmod(Host("closed").c_str(), 0755), 0);
  ASSERT_EQ(chmod(Host("listed").c_str(), 0755), 0);
  ASSERT_TRUE(tree.has_value());
  // "closed" cannot be opened, "listed" gives names that cannot be looked at.
  EXPECT_EQ(tree->report.problem_count(), 3U);
  EXPECT_EQ(tree->report.problems.at(EACCES), 3U);
  EXPECT_THAT(
      tree->report.first_problems,
      ::testing::UnorderedElementsAre(
          Host("closed") + ": cannot be opened: Permission denied",
          Host("listed/one") + ": cannot be looked at: Permission denied",
          Host("listed/two") + ": cannot be looked at: Permission denied"));
  EXPECT_THAT(ImportReportText(tree->report),
              HasSubstr("4 names (2 files, 3 directories, 0 symbolic links)"));
  EXPECT_THAT(ImportReportText(tree->report),
              HasSubstr("3 problems: 3 EACCES"));
  const auto world = MakeWorld(*std::move(tree));
  EXPECT_EQ(world->Stat("/closed")->mode, abi::kSIfdir | 0U);
  EXPECT_THAT(world->Names("/closed"), IsEmpty());
  EXPECT_EQ(world->Stat("/unreadable")->size, 1U);
}

TEST_F(TreeImporter, CountsProblemsThatItDoesNotLog) {
  MakeDirectory("listed");
  for (int i = 0; i < 30; ++i) MakeFile(fmt::format("listed/{}", i));
  ASSERT_EQ(chmod(Host("listed").c_str(), 0444), 0);
  Result<ImportedTree> tree = Fail(Errno::kEIO);
  {
    const UnprivilegedScope unprivileged;
    tree = ImportTree(root_, {.max_logged_problems = 5});
  }
  ASSERT_EQ(chmod(Host("listed").c_str(), 0755), 0);
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->report.problem_count(), 30U);
  EXPECT_THAT(tree->report.first_problems, SizeIs(5));
}

TEST_F(TreeImporter, GoesDeeperThanAPathAndTheDescriptorsAllow) {
  // Two directories a level, so that every level is come back to; the paths
  // are three times PATH_MAX long.
  constexpr int kDepth = 60;
  const std::string name(200, 'd');
  int at = open(root_.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
  for (int i = 0; i < kDepth; ++i) {
    ASSERT_EQ(mkdirat(at, "a", 0755), 0);
    ASSERT_EQ(mkdirat(at, name.c_str(), 0755), 0);
    ASSERT_EQ(mkdirat(at, "z", 0755), 0);
    for (const char* side : {"a", "z"}) {
      const int below = openat(at, side, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
      ASSERT_EQ(mkdirat(below, "leaf", 0755), 0);
      close(below);
    }
    const int next =
        openat(at, name.c_str(), O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    ASSERT_GE(next, 0);
    close(at);
    at = next;
  }
  close(at);
  for (const uint32_t limit : {2U, 5U, 128U}) {
    const auto tree = ImportTree(root_, {.max_open_directories = limit});
    ASSERT_TRUE(tree.has_value());
    EXPECT_THAT(tree->report.first_problems, IsEmpty());
    EXPECT_EQ(tree->report.directories, 1U + 5U * kDepth) << limit;
  }
}

TEST_F(TreeImporter, WideDirectoriesComeWhole) {
  constexpr int kFiles = 5000;
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_EQ(mknod(Host(fmt::format("file{}", i)).c_str(), S_IFREG | 0644, 0),
              0);
  }
  auto tree = ImportTree(root_);
  ASSERT_TRUE(tree.has_value());
  EXPECT_EQ(tree->report.regular_files, uint64_t{kFiles});
  EXPECT_EQ(tree->file_system->root().size(), 40U + 20U * kFiles);
  const auto world = MakeWorld(*std::move(tree));
  EXPECT_THAT(world->Names("/"), SizeIs(kFiles + 1));  // and proc
}

// In a mount namespace of its own; runs `test` there, or says why it cannot.
template <typename Test>
void InMountNamespace(std::string& skipped, Test test) {
  std::thread([&] {
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      skipped = fmt::format("no mount namespace can be made: {}",
                            std::strerror(errno));
      return;
    }
    test();
  }).join();
}

TEST_F(TreeImporter, LeavesMountPointsEmpty) {
  MakeDirectory("mounted");
  MakeFile("mounted/covered");
  MakeDirectory("kernel");
  MakeFile("file");
  std::string skipped;
  InMountNamespace(skipped, [&] {
    if (mount("none", Host("mounted").c_str(), "tmpfs", 0, "mode=0710") != 0 ||
        mount("none", Host("kernel").c_str(), "proc", 0, nullptr) != 0) {
      skipped = fmt::format("nothing can be mounted: {}", std::strerror(errno));
      return;
    }
    MakeFile("mounted/inside");

    auto tree = ImportTree(root_);
    ASSERT_TRUE(tree.has_value());
    EXPECT_EQ(tree->report.mount_points_skipped, 2U);
    EXPECT_EQ(tree->report.directories, 3U);
    EXPECT_EQ(tree->report.regular_files, 1U);
    EXPECT_THAT(tree->report.problems, IsEmpty());
    EXPECT_THAT(ImportReportText(tree->report),
                HasSubstr("2 mount points left empty"));
    {
      const auto world = MakeWorld(*std::move(tree));
      EXPECT_EQ(world->Stat("/mounted")->mode, abi::kSIfdir | 0710U);
      EXPECT_THAT(world->Names("/mounted"), IsEmpty());
    }

    // Into the other file system, but never into the kernel's own.
    tree = ImportTree(root_, {.cross_file_systems = true});
    ASSERT_TRUE(tree.has_value());
    EXPECT_EQ(tree->report.mount_points_skipped, 1U);
    EXPECT_EQ(tree->report.directories, 3U);
    EXPECT_EQ(tree->report.regular_files, 2U);
    EXPECT_THAT(tree->report.problems, IsEmpty());
    const auto world = MakeWorld(*std::move(tree));
    EXPECT_THAT(world->Names("/mounted"), ElementsAre("inside"));
    EXPECT_THAT(world->Names("/kernel"), IsEmpty());
  });
  if (!skipped.empty()) GTEST_SKIP() << skipped;
}

TEST_F(TreeImporter, OfATreeThatIsDroppedLeavesNothing) {
  MakeDirectory("directory");
  MakeFile("directory/file");
  ASSERT_EQ(link(Host("directory/file").c_str(), Host("link").c_str()), 0);
  ASSERT_EQ(symlink("x", Host("symlink").c_str()), 0);
  const auto tree = ImportTree(root_);
  EXPECT_TRUE(tree.has_value());
}

TEST_F(TreeImporter, ClampsTimesThatItCannotHold) {
  MakeFile("file");
  // ext4 and tmpfs hold other ranges: what the host kept is what counts.
  SetTimes("file", {int64_t{1} << 40, 1}, {-(int64_t{1} << 40), 2});
  const struct statx stat = HostStat(Host("file"));
  auto tree = ImportTree(root_);
  ASSERT_TRUE(tree.has_value());
  const auto world = MakeWorld(*std::move(tree));
  const auto actual = world->Stat("/file");
  ASSERT_TRUE(actual.has_value());
  EXPECT_EQ(actual->atime.seconds(),
            std::min<int64_t>(stat.stx_atime.tv_sec, Timestamp::kMaxSeconds));
  EXPECT_EQ(actual->mtime.seconds(),
            std::max<int64_t>(stat.stx_mtime.tv_sec, Timestamp::kMinSeconds));
}

}  // namespace
}  // namespace vfsd::storage
