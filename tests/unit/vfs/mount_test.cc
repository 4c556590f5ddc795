// Mounts: crossing them both ways, busy rules (C3, C4), and what goes on
// working in a mount that is detached under its users.

#include "server/vfs/mount.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "server/vfs/file_system_end.h"
#include "server/vfs/mount_at.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/new_inode.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT

class MountTest : public VariantTest {
 protected:
  // "/m" with a file system of its own on it.
  Mount* MountAtM(const Process& p, MountOptions options = {}) {
    if (!p.Stat("/m").has_value()) {
      EXPECT_EQ(p.MakeDirectory("/m"), Errno::kOk);
    }
    return MountMem(p, "/m", options);
  }

  Errno Unmount(Mount* mount, bool lazy = false) {
    return vfs().mounts.Unmount(*mount, lazy);
  }
  static uint64_t Ino(const Result<Statx>& stat) {
    EXPECT_TRUE(stat.has_value());
    return stat.has_value() ? stat->ino : 0;
  }
  static std::pair<uint64_t, uint64_t> Place(const Result<Statx>& stat) {
    EXPECT_TRUE(stat.has_value());
    return stat.has_value() ? std::pair(stat->mnt_id, stat->ino)
                            : std::pair(uint64_t{0}, uint64_t{0});
  }
};

TEST_P(MountTest, APathCrossesIntoAMountAndBack) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/m"), Errno::kOk);
  ASSERT_EQ(p.Create("/m/below"), Errno::kOk);
  Mount* const mount = MountAtM(p);
  EXPECT_EQ(Process::ErrorOf(p.Stat("/m/below")), Errno::kENOENT);
  ASSERT_EQ(p.Create("/m/inside"), Errno::kOk);
  EXPECT_EQ(p.Stat("/m")->mnt_id, mount->id());
  EXPECT_EQ(p.Stat("/m/inside")->mnt_id, mount->id());
  EXPECT_EQ(p.Stat("/m/..")->mnt_id, vfs().top().id());
  EXPECT_EQ(Place(p.Stat("/m/..")), Place(p.Stat("/")));
  EXPECT_EQ(Place(p.Stat("/m/../m/./inside")), Place(p.Stat("/m/inside")));
  EXPECT_EQ(p.Rename("/m/inside", "/outside"), Errno::kEXDEV);
  EXPECT_EQ(p.MakeLink("/m/inside", "/outside"), Errno::kEXDEV);
  EXPECT_EQ(Unmount(mount), Errno::kOk);
  EXPECT_TRUE(p.Stat("/m/below").has_value());
  EXPECT_EQ(Process::ErrorOf(p.Stat("/m/inside")), Errno::kENOENT);
}

TEST_P(MountTest, AMountpointIsBusyForItsNamesakes) {
  const Process p = Start();
  Mount* const mount = MountAtM(p);
  ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  EXPECT_EQ(p.RemoveDirectory("/m"), Errno::kEBUSY);
  EXPECT_EQ(p.Rename("/m", "/n"), Errno::kEBUSY);
  EXPECT_EQ(p.Rename("/d", "/m"), Errno::kEBUSY);
  EXPECT_EQ(p.Rename("/d", "/m", kRenameExchange), Errno::kEBUSY);
  EXPECT_EQ(p.Unlink("/m"), Errno::kEISDIR);
  EXPECT_EQ(Unmount(mount), Errno::kOk);
  EXPECT_EQ(p.Rename("/d", "/m"), Errno::kOk);
  EXPECT_EQ(p.RemoveDirectory("/m"), Errno::kOk);
}

TEST_P(MountTest, ADirectoryIsBusyWhereverItIsMountedOn) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/d/sub"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/m"), Errno::kOk);
  ASSERT_EQ(BindAt(vfs(), "/d", "/m", {}), Errno::kOk);
  Mount* const inner = MountMem(p, "/m/sub");
  EXPECT_EQ(p.RemoveDirectory("/d/sub"), Errno::kEBUSY);
  EXPECT_EQ(p.Rename("/d/sub", "/d/other"), Errno::kEBUSY);
  EXPECT_EQ(Unmount(inner), Errno::kOk);
  EXPECT_EQ(p.RemoveDirectory("/d/sub"), Errno::kOk);
  EXPECT_EQ(UnmountAt(vfs(), "/m", /*lazy=*/false), Errno::kOk);
}

TEST_P(MountTest, ABindOfAReadOnlyMountIsReadOnly) {
  const Process p = Start();
  Mount* const mount = MountAtM(p);
  ASSERT_EQ(p.MakeDirectory("/m/d"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/b"), Errno::kOk);
  ASSERT_EQ(vfs().mounts.SetReadOnly(*mount, true), Errno::kOk);
  ASSERT_EQ(BindAt(vfs(), "/m/d", "/b", {}), Errno::kOk);
  EXPECT_EQ(p.MakeDirectory("/b/new"), Errno::kEROFS);
  EXPECT_EQ(RemountAt(vfs(), "/b", false), Errno::kOk);
  EXPECT_EQ(p.MakeDirectory("/b/new"), Errno::kOk);
  EXPECT_EQ(p.MakeDirectory("/m/other"), Errno::kEROFS);
  EXPECT_EQ(UnmountAt(vfs(), "/b", /*lazy=*/false), Errno::kOk);
  EXPECT_EQ(Unmount(mount), Errno::kOk);
}

TEST_P(MountTest, WhatIsMountedLaterIsOnTop) {
  const Process p = Start();
  Mount* const first = MountAtM(p);
  ASSERT_EQ(p.Create("/m/first"), Errno::kOk);
  Mount* const second = MountMem(p, "/m");
  EXPECT_EQ(p.Stat("/m")->mnt_id, second->id());
  EXPECT_EQ(Unmount(first), Errno::kEBUSY);  // something is mounted on it
  EXPECT_EQ(Unmount(second), Errno::kOk);
  EXPECT_TRUE(p.Stat("/m/first").has_value());
  EXPECT_EQ(Unmount(first), Errno::kOk);
}

TEST_P(MountTest, NestedMountsAreUnmountedFromWithin) {
  const Process p = Start();
  Mount* const outer = MountAtM(p);
  ASSERT_EQ(p.MakeDirectory("/m/n"), Errno::kOk);
  Mount* const inner = MountMem(p, "/m/n");
  EXPECT_EQ(Place(p.Stat("/m/n/../..")), Place(p.Stat("/")));
  EXPECT_EQ(Unmount(outer), Errno::kEBUSY);
  EXPECT_EQ(Unmount(inner), Errno::kOk);
  EXPECT_EQ(Unmount(outer), Errno::kOk);
}

TEST_P(MountTest, ALazyUnmountDetachesAllThatIsMountedWithin) {
  const Process p = Start();
  Mount* const outer = MountAtM(p);
  ASSERT_EQ(p.MakeDirectory("/m/n"), Errno::kOk);
  MountMem(p, "/m/n");
  EXPECT_EQ(vfs().mounts.size(), 3U);
  EXPECT_EQ(Unmount(outer, /*lazy=*/true), Errno::kOk);
  EXPECT_EQ(vfs().mounts.size(), 1U);
  EXPECT_EQ(Process::ErrorOf(p.Stat("/m/n")), Errno::kENOENT);
}

// is_local_mountpoint() asks the whole namespace, so no directory goes from
// under a mount by another way to it.
TEST_P(MountTest, AMountPointIsBusyByEveryWay) {
  const Process p = Start();
  for (const char* const path : {"/a", "/a/b", "/a/new", "/c"})
    ASSERT_EQ(p.MakeDirectory(path), Errno::kOk);
  ASSERT_EQ(BindAt(vfs(), "/a", "/c", {}), Errno::kOk);
  MountMem(p, "/a/b");
  for (const std::string way : {"/a", "/c"}) {
    EXPECT_EQ(p.RemoveDirectory(way + "/b"), Errno::kEBUSY);
    EXPECT_EQ(p.Rename(way + "/b", way + "/other"), Errno::kEBUSY);
    EXPECT_EQ(p.Rename(way + "/new", way + "/b"), Errno::kEBUSY);
  }
  ASSERT_EQ(UnmountAt(vfs(), "/a/b", /*lazy=*/false), Errno::kOk);
  EXPECT_EQ(p.RemoveDirectory("/c/b"), Errno::kOk);
}

TEST_P(MountTest, AMountEndsWithTheTreeThatItIsIn) {
  const Process p = Start();
  for (const char* const path : {"/a", "/a/b", "/a/b/c"})
    ASSERT_EQ(p.MakeDirectory(path), Errno::kOk);
  MountMem(p, "/a/b/c");
  MountMem(p, "/a/b");
  FileSystem& top = vfs().top().file_system();
  EXPECT_EQ(top.mount_table(), &vfs().mounts);
  EXPECT_EQ(RemoveTree(top, top.root(), "a"), Errno::kOk);
  EXPECT_EQ(vfs().mounts.size(), 1U);
  EXPECT_EQ(Process::ErrorOf(p.Stat("/a")), Errno::kENOENT);
}

TEST_P(MountTest, AFileSystemKnowsItsNamespaceWhileItIsMounted) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/m"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/n"), Errno::kOk);
  const auto file_system = std::make_shared<mem::MemFileSystem>();
  EXPECT_EQ(file_system->mount_table(), nullptr);
  ASSERT_EQ(MountAt(vfs(), "/m", file_system, {}), Errno::kOk);
  ASSERT_EQ(MountAt(vfs(), "/n", file_system, {}), Errno::kOk);
  ASSERT_EQ(UnmountAt(vfs(), "/m", /*lazy=*/false), Errno::kOk);
  EXPECT_EQ(file_system->mount_table(), &vfs().mounts);
  ASSERT_EQ(UnmountAt(vfs(), "/n", /*lazy=*/true), Errno::kOk);
  EXPECT_EQ(file_system->mount_table(), nullptr);
}

// Else its names would be freed where all that others retire waits.
TEST_P(MountTest, ALargeFileSystemEndsOffTheReclaimingThread) {
  std::atomic<std::thread::id> reclaiming;
  sync::RcuRetire(&reclaiming, [](void* id) {
    static_cast<std::atomic<std::thread::id>*>(id)->store(
        std::this_thread::get_id());
  });
  sync::RcuBarrier();
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/m"), Errno::kOk);
  for (const bool large : {false, true}) {
    std::atomic<std::thread::id> ended;
    std::shared_ptr<FileSystem> file_system(
        new mem::MemFileSystem, [&ended](FileSystem* last) {
          std::unique_ptr<FileSystem>(last).reset();
          ended.store(std::this_thread::get_id());
        });
    Inode& root = file_system->root();
    for (int i = 0; i < (large ? 6000 : 10); ++i) {
      Inode::Init init;
      init.mode = kSIfreg | 0644;
      init.ino = file_system->NextInodeNumber();
      ASSERT_EQ(CreateChild(*file_system, root, std::to_string(i),
                            MakeInode(std::move(init))),
                Errno::kOk);
    }
    ASSERT_EQ(MountAt(vfs(), "/m", std::move(file_system), {}), Errno::kOk);
    ASSERT_TRUE(p.Stat("/m/7").has_value());
    ASSERT_EQ(UnmountAt(vfs(), "/m", /*lazy=*/true), Errno::kOk);
    sync::RcuBarrier();
    WaitForFileSystemEnds();
    EXPECT_NE(ended.load(), std::thread::id());
    EXPECT_EQ(ended.load() == reclaiming.load(), !large);
  }
}

// An address is used again, and then names another mount.
TEST_P(MountTest, AnIdNeverNamesAnotherMount) {
  const Process p = Start();
  Mount* const first = MountAtM(p);
  const uint64_t gone = first->id();
  ASSERT_EQ(vfs().mounts.UnmountById(gone, /*lazy=*/false), Errno::kOk);
  sync::RcuBarrier();
  for (int i = 0; i < 100; ++i) {
    Mount* const other = MountAtM(p);
    EXPECT_NE(other->id(), gone);
    EXPECT_EQ(vfs().mounts.UnmountById(gone, /*lazy=*/true), Errno::kEINVAL);
    EXPECT_EQ(p.Stat("/m")->mnt_id, other->id());
    ASSERT_EQ(Unmount(other), Errno::kOk);
    sync::RcuBarrier();
  }
  EXPECT_EQ(UnmountAt(vfs(), "/m", /*lazy=*/false), Errno::kEINVAL);
}

TEST_P(MountTest, TheTopIsNeverUnmounted) {
  EXPECT_EQ(Unmount(&vfs().top()), Errno::kEBUSY);
  EXPECT_EQ(Unmount(&vfs().top(), /*lazy=*/true), Errno::kEBUSY);
}

TEST_P(MountTest, OnlyDirectoriesThatExistAreMountedOn) {
  const Process p = Start();
  ASSERT_EQ(p.Create("/f"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  const PinnedPath file = Pin(p, "/f");
  const PinnedPath directory = Pin(p, "/d");
  ASSERT_EQ(p.RemoveDirectory("/d"), Errno::kOk);
  const auto mount_on = [&](const PinnedPath& at) {
    return vfs()
        .mounts
        .MountOn(std::make_shared<mem::MemFileSystem>(), at.mount(),
                 PinnedInode::Share(at.inode()), "/x", {})
        .error();
  };
  EXPECT_EQ(mount_on(file), Errno::kENOTDIR);
  EXPECT_EQ(mount_on(directory), Errno::kENOENT);
  EXPECT_EQ(vfs().mounts.size(), 1U);
}

// C3: umount is EBUSY while a file is open there, by O_PATH too, and is not
// kept busy by opens that failed.
TEST_P(MountTest, C3UnmountIsBusyWhileAnythingIsOpen) {
  const Process p = Start();
  Mount* const mount = MountAtM(p, {.no_direct_io = true});
  ASSERT_EQ(p.Create("/m/f"), Errno::kOk);
  for (const uint32_t flags : {kORdOnly, kORdWr, kOPath}) {
    for (const char* const path : {"/m/f", "/m"}) {
      if (flags == kORdWr && std::string_view(path) == "/m") continue;
      const Result<Handle> handle = p.Open(path, flags);
      ASSERT_TRUE(handle.has_value());
      EXPECT_EQ(Unmount(mount), Errno::kEBUSY) << path << " " << flags;
      // And the refusal has changed nothing.
      EXPECT_EQ(p.TryOpen("/m/f", kORdOnly), Errno::kOk);
      EXPECT_EQ(p.Close(*handle), Errno::kOk);
    }
  }
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(p.TryOpen("/m/f", kORdWr | kOTrunc | kODirect), Errno::kEINVAL);
    ASSERT_EQ(p.TryOpen("/m/missing", kORdOnly), Errno::kENOENT);
    ASSERT_EQ(p.TryOpen("/m", kOWrOnly), Errno::kEISDIR);
  }
  EXPECT_EQ(mount->references(), 0);
  EXPECT_EQ(mount->writers(), 0);
  EXPECT_EQ(Unmount(mount), Errno::kOk);
}

TEST_P(MountTest, ASessionsRootKeepsItsMountBusy) {
  const Process p = Start();
  Mount* const mount = MountMem(p, "/");
  {
    const Process q = Start();  // its "/" is the new one
    EXPECT_EQ(q.Stat("/")->mnt_id, mount->id());
    EXPECT_EQ(Unmount(mount), Errno::kEBUSY);
    sessions().Close(q.session().id(), nullptr);
  }
  EXPECT_EQ(Unmount(mount), Errno::kOk);
}

// C4: remount,ro is EBUSY while a file is open for writing, and opens that
// failed leave no write access behind.
TEST_P(MountTest, C4ReadOnlyIsBusyWhileAFileIsOpenForWriting) {
  const Process p = Start();
  const Process user = Start(1000, 1000);
  Mount* const mount = MountAtM(p);
  ASSERT_EQ(p.Create("/m/f"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/m/d"), Errno::kOk);
  for (const uint32_t flags : {kOWrOnly, kORdWr, kOWrOnly | kOCreat}) {
    const Result<Handle> handle = p.Open("/m/f", flags);
    ASSERT_TRUE(handle.has_value());
    EXPECT_EQ(vfs().mounts.SetReadOnly(*mount, true), Errno::kEBUSY);
    EXPECT_EQ(p.Close(*handle), Errno::kOk);
  }
  const Result<Handle> reader = p.Open("/m/f", kORdOnly);
  ASSERT_TRUE(reader.has_value());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(p.TryOpen("/m/d", kORdOnly | kOTrunc), Errno::kEISDIR);
    ASSERT_EQ(user.TryOpen("/m/f", kORdOnly | kOTrunc), Errno::kEACCES);
    ASSERT_EQ(p.TryOpen("/m/f", kOCreat | kOExcl | kORdWr), Errno::kEEXIST);
    ASSERT_EQ(user.TryOpen("/m/new", kOCreat | kORdWr), Errno::kEACCES);
  }
  EXPECT_EQ(mount->writers(), 0);
  EXPECT_EQ(vfs().mounts.SetReadOnly(*mount, true), Errno::kOk);
  EXPECT_EQ(p.TryOpen("/m/f", kOWrOnly), Errno::kEROFS);
  EXPECT_EQ(p.TryOpen("/m/f", kORdOnly | kOTrunc), Errno::kEROFS);
  EXPECT_EQ(p.TryOpen("/m/new", kOCreat | kORdOnly), Errno::kEROFS);
  EXPECT_EQ(p.TryOpen("/m/f", kOCreat | kORdOnly), Errno::kOk);
  EXPECT_EQ(p.TryOpen("/m/f", kOCreat | kOExcl | kORdOnly), Errno::kEEXIST);
  EXPECT_EQ(p.MakeDirectory("/m/d"), Errno::kEEXIST);
  EXPECT_EQ(p.MakeDirectory("/m/e"), Errno::kEROFS);
  EXPECT_EQ(p.Unlink("/m/f"), Errno::kEROFS);
  EXPECT_EQ(p.Access("/m/f", kWOk), Errno::kEROFS);
  EXPECT_EQ(vfs().mounts.SetReadOnly(*mount, false), Errno::kOk);
  EXPECT_EQ(p.TryOpen("/m/f", kOWrOnly), Errno::kOk);
  EXPECT_EQ(p.Close(*reader), Errno::kOk);
}

TEST_P(MountTest, HandlesWorkInALazilyDetachedMount) {
  const int64_t mounts = live_objects::Count(ObjectKind::kMount);
  const Process p = Start();
  Mount* const mount = MountAtM(p);
  ASSERT_EQ(p.MakeDirectory("/m/d"), Errno::kOk);
  ASSERT_EQ(p.Create("/m/d/f"), Errno::kOk);
  const auto root_place = Place(p.Stat("/m"));
  const auto file_place = Place(p.Stat("/m/d/f"));
  const Result<Handle> root = p.Open("/m", kORdOnly);
  const Result<Handle> directory = p.Open("/m/d", kOPath);
  ASSERT_TRUE(root.has_value() && directory.has_value());
  EXPECT_EQ(Unmount(mount, /*lazy=*/true), Errno::kOk);
  EXPECT_EQ(Process::ErrorOf(p.Stat("/m/d")), Errno::kENOENT);

  const auto stat = [&](Handle dir, const char* path) {
    return Place(p.Stat(path, 0, kStatxBasicStats, dir));
  };
  EXPECT_EQ(stat(*root, "d/f"), file_place);
  EXPECT_EQ(stat(*directory, "f"), file_place);
  EXPECT_EQ(stat(*directory, ".."), root_place);
  // The way up ends at the detached root (observed on Linux 6.18).
  EXPECT_EQ(stat(*root, ".."), root_place);
  EXPECT_EQ(stat(*directory, "../../../.."), root_place);
  EXPECT_EQ(p.TryOpen("f", kORdWr, 0, *directory), Errno::kOk);
  EXPECT_EQ(p.TryOpen("new", kOCreat | kOExcl | kORdWr, 0644, *directory),
            Errno::kOk);
  EXPECT_EQ(p.TryOpen("../d/../d/new", kORdOnly, 0, *directory), Errno::kOk);
  EXPECT_EQ(p.Unlink("d/new", 0, *root), Errno::kOk);
  EXPECT_EQ(p.MakeDirectory("e", 0755, *root), Errno::kOk);
  EXPECT_EQ(p.ListHandle(*root)->entries.size(), 2U);
  EXPECT_TRUE(p.StatHandle(*directory).has_value());
  // It ends with its last user, and not before.
  EXPECT_EQ(p.Close(*root), Errno::kOk);
  sync::RcuBarrier();
  EXPECT_EQ(live_objects::Count(ObjectKind::kMount), mounts + 1);
  EXPECT_EQ(p.Close(*directory), Errno::kOk);
  sync::RcuBarrier();
  EXPECT_EQ(live_objects::Count(ObjectKind::kMount), mounts);
}

TEST_P(MountTest, AMountWithoutUsersEndsWhenItIsDetached) {
  const Process p = Start();
  const int64_t mounts = live_objects::Count(ObjectKind::kMount);
  const int64_t inodes = live_objects::Count(ObjectKind::kRegularInode);
  for (const bool lazy : {false, true}) {
    Mount* const mount = MountAtM(p);
    ASSERT_EQ(p.Create("/m/f"), Errno::kOk);
    EXPECT_EQ(Unmount(mount, lazy), Errno::kOk);
    sync::RcuBarrier();
    EXPECT_EQ(live_objects::Count(ObjectKind::kMount), mounts);
    EXPECT_EQ(live_objects::Count(ObjectKind::kRegularInode), inodes);
  }
}

TEST_P(MountTest, ReferencesAreExactAfterManyRefusals) {
  const Process p = Start();
  Mount* const mount = MountAtM(p);
  ASSERT_EQ(p.Create("/m/f"), Errno::kOk);
  std::vector<Handle> handles;
  for (int i = 1; i <= 20; ++i) {
    handles.push_back(*p.Open("/m/f", kORdOnly));
    EXPECT_EQ(Unmount(mount), Errno::kEBUSY);
    EXPECT_EQ(mount->references(), i);
  }
  for (int i = 19; i >= 0; --i) {
    EXPECT_EQ(p.Close(handles[static_cast<size_t>(i)]), Errno::kOk);
    EXPECT_EQ(mount->references(), i);
    if (i % 3 == 1) {
      EXPECT_EQ(Unmount(mount), Errno::kEBUSY);
    }
  }
  EXPECT_EQ(Unmount(mount), Errno::kOk);
}

INSTANTIATE_TEST_SUITE_P(Variants, MountTest, testing::ValuesIn(kCoreVariants),
                         CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
