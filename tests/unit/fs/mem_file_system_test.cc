#include "server/fs/mem/mem_file_system.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <string>

#include "gtest/gtest.h"
#include "tests/unit/fs/world.h"

namespace vfsd {
namespace {

using testing::World;
namespace abi = vfs::linux_abi;

constexpr long kTmpfsMagic = 0x01021994;

TEST(MemFileSystem, RootIsWhatTheOptionsSay) {
  testing::ObjectBaseline baseline;
  const mem::RootOptions options = {
      .mode = abi::kSIsvtx | 0770,
      .uid = 12,
      .gid = 34,
      .atime = Timestamp(1, 2),
      .mtime = Timestamp(3, 4),
      .ctime = Timestamp(5, 6),
      .btime = Timestamp(7, 8),
  };
  const mem::MemFileSystem file_system(options);
  const vfs::Inode& root = file_system.root();
  const vfs::InodeAttributes attributes = root.ReadAttributes();
  EXPECT_EQ(attributes.mode, abi::kSIfdir | abi::kSIsvtx | 0770U);
  EXPECT_EQ(attributes.uid, 12U);
  EXPECT_EQ(attributes.gid, 34U);
  EXPECT_EQ(attributes.nlink, 2U);
  EXPECT_EQ(attributes.size, 40U);
  EXPECT_EQ(attributes.atime, Timestamp(1, 2));
  EXPECT_EQ(attributes.mtime, Timestamp(3, 4));
  EXPECT_EQ(attributes.ctime, Timestamp(5, 6));
  EXPECT_EQ(root.btime(), Timestamp(7, 8));
  EXPECT_EQ(root.directory().parent(), &root);
  EXPECT_EQ(file_system.traits().type_name, "mem");
}

TEST(MemFileSystem, TypeInTheRootsModeIsIgnored) {
  const mem::MemFileSystem file_system({.mode = abi::kSIfreg | 0700});
  EXPECT_EQ(file_system.root().mode(), abi::kSIfdir | 0700U);
}

TEST(MemFileSystem, DirectoriesAreAsOnTheKernelsTmpfs) {
  char host_root[] = "/dev/shm/vfsd_mem_test_XXXXXX";
  struct statfs fs;
  if (mkdtemp(host_root) == nullptr) {
    GTEST_SKIP() << "no directory can be made in /dev/shm";
  }
  const std::string host = host_root;
  if (statfs(host_root, &fs) != 0 || fs.f_type != kTmpfsMagic) {
    rmdir(host_root);
    GTEST_SKIP() << "/dev/shm is no tmpfs";
  }
  World world;
  world.MakeDirectory("/d");
  // Compares what a directory tells of itself after each step.
  const auto compare = [&](const char* step) {
    struct statx expected;
    ASSERT_EQ(::statx(AT_FDCWD, host.c_str(), 0,
                      STATX_BASIC_STATS | STATX_BTIME, &expected),
              0);
    const auto actual = world.Stat("/d");
    ASSERT_TRUE(actual.has_value());
    EXPECT_EQ(actual->size, expected.stx_size) << step;
    EXPECT_EQ(actual->nlink, expected.stx_nlink) << step;
    EXPECT_EQ(actual->blksize, expected.stx_blksize) << step;
    EXPECT_EQ(actual->blocks, expected.stx_blocks) << step;
    EXPECT_EQ(actual->mask & abi::kStatxBtime, expected.stx_mask & STATX_BTIME)
        << step;
    // The kernel's own bits differ with its version; these are the tmpfs's.
    constexpr uint64_t kOfTheFileSystem = 0x70;
    EXPECT_EQ(actual->attributes_mask & kOfTheFileSystem,
              expected.stx_attributes_mask & kOfTheFileSystem)
        << step;
  };
  compare("empty");
  const int fd = open((host + "/file").c_str(), O_CREAT | O_WRONLY, 0644);
  ASSERT_GE(fd, 0);
  close(fd);
  const auto handle = world.Open("/d/file", abi::kOCreat | abi::kOWrOnly);
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
  compare("a file");
  ASSERT_EQ(mkdir((host + "/directory").c_str(), 0755), 0);
  world.MakeDirectory("/d/directory");
  compare("a file and a directory");
  ASSERT_EQ(unlink((host + "/file").c_str()), 0);
  vfs::UnlinkOperation unlink_file;
  unlink_file.path = "/d/file";
  ASSERT_TRUE(world.executor.Execute(vfs::Caller(*world.session), unlink_file)
                  .has_value());
  compare("a directory");
  EXPECT_EQ(rmdir((host + "/directory").c_str()), 0);
  EXPECT_EQ(rmdir(host.c_str()), 0);
}

}  // namespace
}  // namespace vfsd
