// Inodes: attributes read whole, and when reading updates the access time.

#include "server/vfs/inode.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "server/sync/rcu.h"
#include "server/vfs/live_objects.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using linux_abi::kSIfdir;
using linux_abi::kSIflnk;
using linux_abi::kSIfreg;

std::unique_ptr<Inode> NewFile(Timestamp atime, Timestamp mtime,
                               Timestamp ctime) {
  Inode::Init init;
  init.mode = kSIfreg | 0644;
  init.atime = atime;
  init.mtime = mtime;
  init.ctime = ctime;
  return std::make_unique<Inode>(std::move(init));
}

Timestamp SecondsAgo(int64_t seconds) {
  return Timestamp(Timestamp::Now().seconds() - seconds, 0);
}

TEST(RelatimeTest, AnAccessTimeNotAfterTheChangeIsUpdated) {
  constexpr int64_t kHour = 3600;
  struct Row {
    const char* what;
    int64_t atime_ago, mtime_ago, ctime_ago;
    bool updates;
  };
  for (const Row& row : {
           Row{"later than both, fresh", kHour, 2 * kHour, 2 * kHour, false},
           Row{"as old as the modification", kHour, kHour, 2 * kHour, true},
           Row{"as old as the change", kHour, 2 * kHour, kHour, true},
           Row{"before the modification", 2 * kHour, kHour, 3 * kHour, true},
           Row{"before the change", 2 * kHour, 3 * kHour, kHour, true},
           Row{"later than both, a day old", 24 * kHour + 1, 25 * kHour,
               25 * kHour, true},
           Row{"later than both, almost a day old", 24 * kHour - 60, 25 * kHour,
               25 * kHour, false},
       }) {
    const Timestamp atime = SecondsAgo(row.atime_ago);
    const auto inode =
        NewFile(atime, SecondsAgo(row.mtime_ago), SecondsAgo(row.ctime_ago));
    const Timestamp before = Timestamp::Now();
    inode->TouchAccessTime();
    const InodeAttributes after = inode->ReadAttributes();
    if (row.updates) {
      EXPECT_GE(after.atime, before) << row.what;
    } else {
      EXPECT_EQ(after.atime, atime) << row.what;
    }
  }
}

TEST(RelatimeTest, OnlyTheAccessTimeIsUpdated) {
  const auto inode = NewFile(SecondsAgo(100), SecondsAgo(50), SecondsAgo(60));
  const InodeAttributes before = inode->ReadAttributes();
  inode->TouchAccessTime();
  const InodeAttributes after = inode->ReadAttributes();
  EXPECT_GT(after.atime, before.atime);
  EXPECT_EQ(after.mtime, before.mtime);
  EXPECT_EQ(after.ctime, before.ctime);
}

TEST(RelatimeTest, ASecondReadChangesNothing) {
  const auto inode = NewFile(SecondsAgo(100), SecondsAgo(50), SecondsAgo(60));
  inode->TouchAccessTime();
  const Timestamp first = inode->ReadAttributes().atime;
  inode->TouchAccessTime();
  EXPECT_EQ(inode->ReadAttributes().atime, first);
}

TEST(InodeTest, ASymlinksSizeIsItsTargets) {
  Inode::Init init;
  init.mode = kSIflnk | 0777;
  init.target = "some/where";
  const Inode inode(std::move(init));
  EXPECT_EQ(inode.size(), 10U);
  EXPECT_EQ(inode.symlink_target(), "some/where");
}

TEST(InodeTest, OnlyDeviceNodesHaveADevice) {
  for (const uint32_t type :
       {linux_abi::kSIfchr, linux_abi::kSIfblk, linux_abi::kSIfifo,
        linux_abi::kSIfsock, kSIfreg, kSIfdir}) {
    Inode::Init init;
    init.mode = type | 0600;
    init.device = linux_abi::MakeDevice(8, 1);
    const Inode inode(std::move(init));
    EXPECT_EQ(inode.device(),
              linux_abi::IsDevice(type) ? linux_abi::MakeDevice(8, 1) : 0);
  }
}

TEST(InodeTest, PermissionsChangeWithoutTheType) {
  const auto inode = NewFile({}, {}, {});
  sync::SeqLockWriter writer(inode->attribute_lock);
  inode->SetPermissions(0xffff'ffff);
  EXPECT_EQ(inode->mode(), kSIfreg | 07777);
  inode->SetPermissions(0);
  EXPECT_EQ(inode->mode(), kSIfreg);
}

TEST(InodeTest, FlagsAreIndependent) {
  const auto inode = NewFile({}, {}, {});
  inode->SetFlag(kInodeDead);
  inode->SetFlag(kInodeMountPoint);
  inode->ClearFlag(kInodeDead);
  EXPECT_FALSE(inode->HasFlag(kInodeDead));
  EXPECT_TRUE(inode->HasFlag(kInodeMountPoint));
  EXPECT_FALSE(inode->HasFlag(kInodeAllocated));
}

TEST(InodeTest, AttributesAreReadWhole) {
  const auto inode = NewFile({}, {}, {});
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (uint32_t i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      const sync::SeqLockWriter section(inode->attribute_lock);
      inode->SetSize(i);
      inode->SetLinkCount(i);
      inode->SetOwner(i, i);
      inode->SetModifyTime(Timestamp(i, 0));
      inode->SetChangeTime(Timestamp(i, 0));
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    const InodeAttributes seen = inode->ReadAttributes();
    const auto expected = static_cast<uint32_t>(seen.size);
    if (expected == 0) continue;  // before the first
    ASSERT_EQ(seen.nlink, expected);
    ASSERT_EQ(seen.uid, expected);
    ASSERT_EQ(seen.gid, expected);
    ASSERT_EQ(seen.mtime, Timestamp(expected, 0));
    ASSERT_EQ(seen.ctime, Timestamp(expected, 0));
  }
  stop.store(true);
  writer.join();
}

TEST(PinnedInodeTest, TheLastPinEndsTheInode) {
  sync::RcuBarrier();
  const int64_t before = live_objects::Count(ObjectKind::kRegularInode);
  {
    PinnedInode first = PinnedInode::Adopt(NewFile({}, {}, {}).release());
    PinnedInode second = PinnedInode::Share(*first);
    EXPECT_EQ(first->references.Read(), 2U);
    PinnedInode moved = std::move(first);
    EXPECT_FALSE(first);  // NOLINT: what a move leaves is specified
    EXPECT_EQ(moved->references.Read(), 2U);
    moved = std::move(second);
    EXPECT_EQ(moved->references.Read(), 1U);
    sync::RcuBarrier();
    EXPECT_EQ(live_objects::Count(ObjectKind::kRegularInode), before + 1);
  }
  sync::RcuBarrier();
  EXPECT_EQ(live_objects::Count(ObjectKind::kRegularInode), before);
}

TEST(PinnedInodeTest, ADeadInodeIsNotSharedButReadable) {
  auto pinned = PinnedInode::Adopt(NewFile({}, {}, {}).release());
  Inode* const inode = pinned.get();
  {
    const sync::RcuReadSection section;
    pinned.Reset();
    EXPECT_FALSE(PinnedInode::TryShare(*inode));
    EXPECT_EQ(inode->mode(), kSIfreg | 0644);
  }
  sync::RcuBarrier();
}

TEST(DirectoryTest, ADirectoryHoldsItsParentAlsoWhenItMoves) {
  const auto directory = [] {
    Inode::Init init;
    init.mode = kSIfdir | 0755;
    return PinnedInode::Adopt(
        std::make_unique<Inode>(std::move(init)).release());
  };
  const PinnedInode a = directory();
  const PinnedInode b = directory();
  a->directory().SetRoot(*a);
  b->directory().SetRoot(*b);
  PinnedInode child = directory();
  child->directory().SetParent(*a);
  EXPECT_EQ(child->directory().parent(), a.get());
  EXPECT_EQ(a->references.Read(), 2U);
  child->directory().SetParent(*b);
  EXPECT_EQ(a->references.Read(), 1U);
  EXPECT_EQ(b->references.Read(), 2U);
  child.Reset();
  sync::RcuBarrier();
  EXPECT_EQ(b->references.Read(), 1U);
}

// A core whose baseline counted what others had retired would find too few.
TEST(CoreTestTest, TheBaselineIsWithoutWhatEarlierTestsRetired) {
  for (int i = 0; i < 1000; ++i) {
    Inode::Init init;
    init.mode = kSIfdir | 0755;
    PinnedInode::Adopt(std::make_unique<Inode>(std::move(init)).release())
        .Reset();
  }
  class Core final : public CoreTest {
    void TestBody() override {}
  };
  Core();
}

}  // namespace
}  // namespace vfsd::vfs
