// What changes where a known prefix leads must be seen by the next walk: each
// kind of change, after walks that made the prefix known. The variants with the
// locked walk, which knows no prefixes, say what is right.

#include "server/vfs/prefix_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "server/vfs/mount_at.h"
#include "server/vfs/namespace_generation.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT

class PrefixCacheTest : public VariantTest {
 protected:
  PrefixCacheTest() {
    EXPECT_EQ(p_.MakeDirectory("/a"), Errno::kOk);
    EXPECT_EQ(p_.MakeDirectory("/a/b"), Errno::kOk);
    EXPECT_EQ(p_.Create("/a/b/file"), Errno::kOk);
    EXPECT_EQ(p_.MakeDirectory("/x"), Errno::kOk);
    EXPECT_EQ(p_.MakeDirectory("/x/b"), Errno::kOk);
    EXPECT_EQ(p_.Create("/x/b/other"), Errno::kOk);
  }

  Errno Look(const Process& p, std::string_view path) {
    // Twice: the first walk makes the prefix known.
    const Errno first = Process::ErrorOf(p.Stat(path));
    EXPECT_EQ(Process::ErrorOf(p.Stat(path)), first) << path;
    return first;
  }
  Errno Look(std::string_view path) { return Look(p_, path); }

  const Process p_ = Start();
  const Process user_ = Start(1000, 1000);
};

using KnownPrefixTest = CoreTest;

TEST_F(KnownPrefixTest, AWalkMakesItsPrefixKnownAndAChangeForgetsIt) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  const auto known = [&p](std::string_view prefix) {
    const sync::RcuReadSection section;
    return PrefixCache::Own().Find(NamespaceGeneration::Stable(),
                                   p.session().root(), prefix) != nullptr;
  };
  EXPECT_FALSE(known("/d"));
  ASSERT_EQ(Process::ErrorOf(p.Stat("/d/none")), Errno::kENOENT);
  EXPECT_TRUE(known("/d"));
  EXPECT_FALSE(known("d"));
  ASSERT_EQ(p.Create("/d/new"), Errno::kOk);  // no directory
  EXPECT_TRUE(known("/d"));
  {
    const NamespaceChange change;
    EXPECT_EQ(NamespaceGeneration::Stable(), 0U);
    EXPECT_FALSE(known("/d"));
    EXPECT_TRUE(p.Stat("/d/new").has_value());  // by the components
  }
  EXPECT_FALSE(known("/d"));
}

TEST_P(PrefixCacheTest, ARenamedDirectory) {
  ASSERT_EQ(Look("/a/b/file"), Errno::kOk);
  ASSERT_EQ(p_.Rename("/a/b", "/a/c"), Errno::kOk);
  EXPECT_EQ(Look("/a/b/file"), Errno::kENOENT);
  EXPECT_EQ(Look("/a/c/file"), Errno::kOk);
  ASSERT_EQ(p_.Rename("/a", "/y"), Errno::kOk);
  EXPECT_EQ(Look("/a/c/file"), Errno::kENOENT);
  EXPECT_EQ(Look("/y/c/file"), Errno::kOk);
}

TEST_P(PrefixCacheTest, AnExchangedDirectory) {
  ASSERT_EQ(Look("/a/b/file"), Errno::kOk);
  ASSERT_EQ(p_.Rename("/a", "/x", kRenameExchange), Errno::kOk);
  EXPECT_EQ(Look("/a/b/file"), Errno::kENOENT);
  EXPECT_EQ(Look("/a/b/other"), Errno::kOk);
  EXPECT_EQ(Look("/x/b/file"), Errno::kOk);
}

TEST_P(PrefixCacheTest, ADirectoryExchangedWithAFile) {
  ASSERT_EQ(p_.Create("/plain"), Errno::kOk);
  ASSERT_EQ(Look("/a/b/file"), Errno::kOk);
  ASSERT_EQ(p_.Rename("/plain", "/a", kRenameExchange), Errno::kOk);
  EXPECT_EQ(Look("/a/b/file"), Errno::kENOTDIR);
}

TEST_P(PrefixCacheTest, ADirectoryThatReplacesAnother) {
  ASSERT_EQ(Look("/x/b/other"), Errno::kOk);
  ASSERT_EQ(p_.MakeDirectory("/empty"), Errno::kOk);
  ASSERT_EQ(Look("/empty/none"), Errno::kENOENT);
  ASSERT_EQ(p_.Rename("/x", "/empty"), Errno::kOk);
  EXPECT_EQ(Look("/empty/b/other"), Errno::kOk);
  EXPECT_EQ(Look("/x/b/other"), Errno::kENOENT);
}

TEST_P(PrefixCacheTest, ADirectoryRemovedAndMadeAgain) {
  ASSERT_EQ(Look("/a/b/file"), Errno::kOk);
  ASSERT_EQ(p_.Unlink("/a/b/file"), Errno::kOk);
  ASSERT_EQ(Look("/a/b/file"), Errno::kENOENT);
  ASSERT_EQ(p_.RemoveDirectory("/a/b"), Errno::kOk);
  EXPECT_EQ(p_.Create("/a/b/file"), Errno::kENOENT);
  ASSERT_EQ(p_.MakeDirectory("/a/b"), Errno::kOk);
  ASSERT_EQ(p_.Create("/a/b/file"), Errno::kOk);
  EXPECT_EQ(Look("/a/b/file"), Errno::kOk);
  // A link in its place.
  ASSERT_EQ(p_.Unlink("/a/b/file"), Errno::kOk);
  ASSERT_EQ(p_.RemoveDirectory("/a/b"), Errno::kOk);
  ASSERT_EQ(p_.MakeSymlink("/x/b", "/a/b"), Errno::kOk);
  EXPECT_EQ(Look("/a/b/other"), Errno::kOk);
  // And the link led elsewhere: no directory changes with it.
  ASSERT_EQ(p_.Unlink("/a/b"), Errno::kOk);
  ASSERT_EQ(p_.MakeSymlink("/x", "/a/b"), Errno::kOk);
  EXPECT_EQ(Look("/a/b/other"), Errno::kENOENT);
  EXPECT_EQ(Look("/a/b/b"), Errno::kOk);
}

TEST_P(PrefixCacheTest, WhoMaySearch) {
  ASSERT_EQ(Look(user_, "/a/b/file"), Errno::kOk);
  ASSERT_EQ(p_.ChangeMode("/a", 0700), Errno::kOk);
  EXPECT_EQ(Look(user_, "/a/b/file"), Errno::kEACCES);
  // What root may is nobody else's.
  ASSERT_EQ(Look("/a/b/file"), Errno::kOk);
  EXPECT_EQ(Look(user_, "/a/b/file"), Errno::kEACCES);
  ASSERT_EQ(p_.ChangeOwner("/a", 1000, 1000), Errno::kOk);
  EXPECT_EQ(Look(user_, "/a/b/file"), Errno::kOk);
  ASSERT_EQ(p_.ChangeMode("/a", 0755), Errno::kOk);
  ASSERT_EQ(Look(user_, "/a/b/file"), Errno::kOk);
  // Of the last directory, too.
  ASSERT_EQ(p_.ChangeMode("/a/b", 0), Errno::kOk);
  EXPECT_EQ(Look(user_, "/a/b/file"), Errno::kEACCES);
  EXPECT_EQ(Look(user_, "/a/b/none"), Errno::kEACCES);
}

TEST_P(PrefixCacheTest, AMountOnIt) {
  ASSERT_EQ(Look("/a/b/file"), Errno::kOk);
  Mount* const mount = MountMem(p_, "/a/b");
  EXPECT_EQ(Look("/a/b/file"), Errno::kENOENT);
  ASSERT_EQ(p_.Create("/a/b/inside"), Errno::kOk);
  EXPECT_EQ(Look("/a/b/inside"), Errno::kOk);
  ASSERT_EQ(vfs().mounts.Unmount(*mount), Errno::kOk);
  EXPECT_EQ(Look("/a/b/inside"), Errno::kENOENT);
  EXPECT_EQ(Look("/a/b/file"), Errno::kOk);
}

TEST_P(PrefixCacheTest, ADetachedMountWhoseMemoryIsUsedAgain) {
  // Each round may get the addresses of the one before.
  for (int round = 0; round < 200; ++round) {
    Mount* const mount = MountMem(p_, "/a/b");
    ASSERT_EQ(p_.MakeDirectory("/a/b/d"), Errno::kOk);
    const std::string name = "round" + std::to_string(round);
    ASSERT_EQ(p_.Create("/a/b/d/" + name), Errno::kOk);
    const Result<Handle> handle = p_.Open("/a/b", kODirectory);
    ASSERT_TRUE(handle.has_value());
    ASSERT_EQ(vfs().mounts.Unmount(*mount, /*lazy=*/true), Errno::kOk);
    // Known from now on, in a mount that ends with its last handle.
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(
          p_.Stat("d/" + name, 0, kStatxBasicStats, *handle).has_value());
    }
    EXPECT_EQ(
        Process::ErrorOf(p_.Stat("d/round-1", 0, kStatxBasicStats, *handle)),
        Errno::kENOENT);
    ASSERT_EQ(p_.Close(*handle), Errno::kOk);
    if (round % 8 == 0) sync::RcuBarrier();
  }
}

TEST_P(PrefixCacheTest, DotsAndSlashesAndLongPrefixes) {
  EXPECT_EQ(Look("/a//b/file"), Errno::kOk);
  EXPECT_EQ(Look("/a/b//file"), Errno::kOk);
  EXPECT_EQ(Look("/a/./b/file"), Errno::kOk);
  EXPECT_EQ(Look("/a/b/../../x/b/other"), Errno::kOk);
  EXPECT_EQ(Look("/a/b/.."), Errno::kOk);
  EXPECT_EQ(p_.Stat("/a/b/..")->ino, p_.Stat("/a")->ino);
  EXPECT_EQ(p_.Stat("/a/b/.")->ino, p_.Stat("/a/b")->ino);
  EXPECT_EQ(p_.Stat("/a/b/")->ino, p_.Stat("/a/b")->ino);
  EXPECT_EQ(Look("/a/b/file/"), Errno::kENOTDIR);
  EXPECT_EQ(Look("/a/b/file/under"), Errno::kENOTDIR);
  EXPECT_EQ(Look("/a/b/file/under/"), Errno::kENOTDIR);
  std::string deep;
  for (int i = 0; i < 12; ++i) {
    deep += "/component";
    ASSERT_EQ(p_.MakeDirectory(deep), Errno::kOk);
    ASSERT_EQ(p_.Create(deep + "/f"), Errno::kOk);
    EXPECT_EQ(Look(deep + "/f"), Errno::kOk);
    EXPECT_EQ(Look(deep + "/none"), Errno::kENOENT);
  }
}

TEST_P(PrefixCacheTest, ARelativePathIsAnotherFromAnotherDirectory) {
  const Result<Handle> a = p_.Open("/a", kODirectory);
  const Result<Handle> x = p_.Open("/x", kODirectory);
  ASSERT_TRUE(a.has_value() && x.has_value());
  const auto look = [&](Handle dir, std::string_view path) {
    return Process::ErrorOf(p_.Stat(path, 0, kStatxBasicStats, dir));
  };
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(look(*a, "b/file"), Errno::kOk);
    EXPECT_EQ(look(*x, "b/file"), Errno::kENOENT);
    EXPECT_EQ(look(*x, "b/other"), Errno::kOk);
    EXPECT_EQ(look(*a, "b/other"), Errno::kENOENT);
  }
  EXPECT_EQ(p_.Close(*a), Errno::kOk);
  EXPECT_EQ(p_.Close(*x), Errno::kOk);
}

// Whoever has seen the new name never finds the old one afterwards, whatever
// its own thread had known.
TEST_P(PrefixCacheTest, WhatIsRenamedBackAndForthIsNeverInBothPlaces) {
  constexpr int kRounds = 3000;
  std::atomic<bool> stop{false};
  std::atomic<int> both{0};
  std::atomic<int> neither{0};
  std::thread reader([&] {
    const Process p = Start();
    while (!stop.load()) {
      // Rounds of renames have a start and an end that say if they ended.
      const uint64_t begin = vfs().directory_moves.load();
      const bool old_place = p.Stat("/a/b/file").has_value();
      const bool new_place = p.Stat("/x/moved/file").has_value();
      if (begin != vfs().directory_moves.load() || (begin & 1) != 0) continue;
      if (old_place && new_place) ++both;
      if (!old_place && !new_place) ++neither;
    }
  });
  for (int i = 0; i < kRounds; ++i) {
    ASSERT_EQ(p_.Rename("/a/b", "/x/moved"), Errno::kOk);
    ASSERT_EQ(p_.Rename("/x/moved", "/a/b"), Errno::kOk);
    if (i % 64 == 0) std::this_thread::yield();
  }
  stop = true;
  reader.join();
  EXPECT_EQ(both.load(), 0);
  EXPECT_EQ(neither.load(), 0);
}

// Not with PrefixCacheTest, whose sessions would outlive their core.
using RestartedCoreTest = VariantTest;

TEST_P(RestartedCoreTest, AnotherCoreInTheSameMemory) {
  for (int round = 0; round < 20; ++round) {
    RestartVariant();
    const Process p = Start();
    const std::string name = "/d/file" + std::to_string(round);
    ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
    ASSERT_EQ(p.Create(name), Errno::kOk);
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(p.Stat(name).has_value());
      EXPECT_EQ(Process::ErrorOf(p.Stat("/d/file" + std::to_string(round - 1))),
                Errno::kENOENT);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, PrefixCacheTest,
                         testing::ValuesIn(kCoreVariants), CoreVariantName);

INSTANTIATE_TEST_SUITE_P(Variants, RestartedCoreTest,
                         testing::ValuesIn(kCoreVariants), CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
