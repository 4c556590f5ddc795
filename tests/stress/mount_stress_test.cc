// Mounts that come and go under walks, opens and removals of their mountpoints.

#include <gtest/gtest.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/vfs/mount_at.h"
#include "tests/stress/load.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT
using stress::Load;
using stress::Random;

class MountStressTest : public VariantTest {};

TEST_P(MountStressTest, UnmountAgainstWalksOpensAndRemovals) {
  const Process mounter = Start();
  const Process walker = Start();
  const Process opener = Start();
  const Process remover = Start();
  ASSERT_EQ(mounter.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(mounter.MakeDirectory("/d/m"), Errno::kOk);
  sync::RcuBarrier();
  const int64_t mounts = live_objects::Count(ObjectKind::kMount);
  const int64_t inodes = live_objects::Count(ObjectKind::kRegularInode);
  std::atomic<uint64_t> busy{0};
  std::atomic<uint64_t> crossed{0};
  std::atomic<uint64_t> removed{0};
  {
    Load load;
    load.Add([&](Random& random) {
      const WalkRequest request{vfs(), mounter.session(),
                                *mounter.session().credentials(), std::nullopt,
                                "/d/m"};
      const Result<PinnedPath> at = Walker(request).Resolve();
      if (!at.has_value()) {
        EXPECT_EQ(at.error(), Errno::kENOENT);  // the remover was there
        return;
      }
      const auto file_system = std::make_shared<mem::MemFileSystem>();
      const Result<Mount*> mount =
          vfs().mounts.MountOn(file_system, at->mount(),
                               PinnedInode::Share(at->inode()), "/d/m", {});
      if (!mount.has_value()) {
        EXPECT_EQ(mount.error(), Errno::kENOENT);
        return;
      }
      // Mounted: the mountpoint stays, and what is in it is what we made.
      const Result<Handle> root = mounter.Open("/d/m", kORdOnly);
      ASSERT_TRUE(root.has_value());
      EXPECT_EQ(mounter.StatHandle(*root)->mnt_id, (*mount)->id());
      EXPECT_EQ(mounter.TryOpen("f", kOCreat | kOExcl | kORdWr, 0644, *root),
                Errno::kOk);
      // Busy: and nobody whose handle is open notices that it was tried.
      EXPECT_EQ(vfs().mounts.Unmount(**mount), Errno::kEBUSY);
      EXPECT_EQ(mounter.TryOpen("f", kORdOnly, 0, *root), Errno::kOk);
      const bool lazy = random() % 2 == 0;
      if (lazy) {
        EXPECT_EQ(vfs().mounts.Unmount(**mount, /*lazy=*/true), Errno::kOk);
        EXPECT_EQ(mounter.TryOpen("f", kORdWr, 0, *root), Errno::kOk);
        EXPECT_EQ(mounter.TryOpen("../../g", kOCreat | kORdWr, 0644, *root),
                  Errno::kOk);
        EXPECT_EQ(mounter.ListHandle(*root)->entries.size(), 2U);
      }
      EXPECT_EQ(mounter.Close(*root), Errno::kOk);
      if (lazy) return;
      while (vfs().mounts.Unmount(**mount) == Errno::kEBUSY) {
        ++busy;
        std::this_thread::yield();
      }
    });
    load.Add([&](Random&) {
      for (const char* const path : {"/d/m/f", "/d/m/../m/f", "/d/m/.."}) {
        const Result<Statx> stat = walker.Stat(path);
        if (stat.has_value()) {
          ++crossed;
        } else {
          EXPECT_EQ(stat.error(), Errno::kENOENT);
        }
      }
    });
    load.Add([&](Random& random) {
      const Result<Handle> handle = opener.Open("/d/m/f", kORdWr);
      if (!handle.has_value()) {
        EXPECT_EQ(handle.error(), Errno::kENOENT);
        return;
      }
      for (uint64_t i = random() % 1000; i > 0; --i) sync::SpinPause();
      EXPECT_TRUE(opener.StatHandle(*handle).has_value());
      EXPECT_EQ(opener.Close(*handle), Errno::kOk);
    });
    load.Add([&](Random&) {
      const Errno error = remover.RemoveDirectory("/d/m");
      if (error == Errno::kOk) {
        ++removed;
        EXPECT_EQ(remover.MakeDirectory("/d/m"), Errno::kOk);
      } else {
        EXPECT_EQ(error, Errno::kEBUSY);
      }
      std::this_thread::yield();
    });
    load.Wait();
    stress::Report(load);
  }
  std::cout << crossed.load() << " crossings, " << busy.load()
            << " times busy, " << removed.load() << " removals" << std::endl;
  EXPECT_GT(crossed.load(), 0U);
  EXPECT_EQ(vfs().mounts.size(), 1U);
  sync::RcuBarrier();
  EXPECT_EQ(live_objects::Count(ObjectKind::kMount), mounts);
  EXPECT_EQ(live_objects::Count(ObjectKind::kRegularInode), inodes);
  EXPECT_EQ(mounter.RemoveDirectory("/d/m"), Errno::kOk);
}

// A directory that is removed by another way is never one that something is
// mounted on, whoever mounts on it, walks or has something open there
// meanwhile.
TEST_P(MountStressTest, RemovalsByAnotherWayAgainstMountsAndWalks) {
  const Process mounter = Start();
  const Process walker = Start();
  const Process remover = Start();
  for (const char* const path : {"/a", "/a/b", "/c"})
    ASSERT_EQ(mounter.MakeDirectory(path), Errno::kOk);
  ASSERT_EQ(BindAt(vfs(), "/a", "/c", {}), Errno::kOk);
  sync::RcuBarrier();
  const int64_t mounts = live_objects::Count(ObjectKind::kMount);
  std::atomic<uint64_t> mounted{0};
  std::atomic<uint64_t> removed{0};
  {
    Load load(0.3);
    load.Add([&](Random&) {
      const Errno error =
          MountAt(vfs(), "/a/b", std::make_shared<mem::MemFileSystem>(), {});
      if (error == Errno::kOk) {
        ++mounted;
        EXPECT_EQ(UnmountAt(vfs(), "/a/b", /*lazy=*/true), Errno::kOk);
      } else {
        EXPECT_EQ(error, Errno::kENOENT);
      }
    });
    load.Add([&](Random&) {
      const Result<Handle> handle = walker.Open("/a/b", kORdOnly);
      if (!handle.has_value()) {
        EXPECT_EQ(handle.error(), Errno::kENOENT);
        return;
      }
      EXPECT_TRUE(walker.StatHandle(*handle).has_value());
      EXPECT_TRUE(walker.Stat("..", 0, kStatxBasicStats, *handle).has_value());
      EXPECT_EQ(walker.Close(*handle), Errno::kOk);
    });
    load.Add([&](Random&) {
      if (const Errno error = remover.RemoveDirectory("/c/b");
          error != Errno::kOk) {
        EXPECT_EQ(error, Errno::kEBUSY);
        return;
      }
      ++removed;
      EXPECT_EQ(remover.MakeDirectory("/a/b"), Errno::kOk);
      std::this_thread::yield();
    });
    load.Wait();
    stress::Report(load);
  }
  std::cout << mounted.load() << " mounts, " << removed.load() << " removals"
            << std::endl;
  EXPECT_GT(removed.load(), 0U);
  EXPECT_EQ(remover.RemoveDirectory("/c/b"), Errno::kOk);
  EXPECT_EQ(vfs().mounts.size(), 2U);
  sync::RcuBarrier();
  EXPECT_EQ(live_objects::Count(ObjectKind::kMount), mounts);
}

TEST_P(MountStressTest, SessionsOpenUnderAMountOverTheRootThatComesAndGoes) {
  const Process main = Start();
  std::atomic<uint64_t> over{0};
  Load load(0.3);
  load.Add([&](Random&) {
    Mount* const mount = MountMem(main, "/");
    ++over;
    while (vfs().mounts.Unmount(*mount) == Errno::kEBUSY)
      std::this_thread::yield();
  });
  load.Add([&](Random&) {
    const Process p = Start();
    EXPECT_TRUE(p.Stat("/").has_value());
    EXPECT_EQ(p.TryOpen("/..", kORdOnly), Errno::kOk);
    EXPECT_TRUE(sessions().Close(p.session().id(), nullptr));
  });
  load.Wait();
  stress::Report(load);
  EXPECT_GT(over.load(), 0U);
}

TEST_P(MountStressTest, ReadOnlySwitchesAgainstWriters) {
  const Process main = Start();
  ASSERT_EQ(main.Create("/f"), Errno::kOk);
  const Process writer = Start();
  Load load(0.3);
  std::atomic<bool> read_only{false};  // certainly, for as long as it says so
  load.Add([&](Random&) {
    if (vfs().mounts.SetReadOnly(vfs().top(), true) != Errno::kOk) return;
    read_only.store(true);
    EXPECT_EQ(vfs().top().writers(), 0);
    for (int i = 0; i < 100; ++i) sync::SpinPause();
    read_only.store(false);
    EXPECT_EQ(vfs().mounts.SetReadOnly(vfs().top(), false), Errno::kOk);
  });
  for (int t = 0; t < 2; ++t) {
    load.Add([&](Random& random) {
      const Result<Handle> handle =
          writer.Open(random() % 2 == 0 ? "/f" : "/new", kOCreat | kORdWr);
      if (handle.has_value()) {
        // Ours is open for writing: nobody makes it read-only now.
        EXPECT_EQ(vfs().mounts.SetReadOnly(vfs().top(), true), Errno::kEBUSY);
        EXPECT_FALSE(read_only.load());
        EXPECT_EQ(writer.Close(*handle), Errno::kOk);
      } else {
        EXPECT_EQ(handle.error(), Errno::kEROFS);
      }
      writer.Unlink("/new");
    });
  }
  load.Wait();
  stress::Report(load);
  EXPECT_EQ(vfs().top().writers(), 0);
}

INSTANTIATE_TEST_SUITE_P(Variants, MountStressTest,
                         testing::Values(CoreVariant{true, false},
                                         CoreVariant{false, true}),
                         CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
