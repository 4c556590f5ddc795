// Names: creation, lookup, listing, removal, renaming, and what they do to link
// counts and sizes.

#include <gtest/gtest.h>

#include <set>

#include "server/vfs/namespace_link.h"
#include "server/vfs/new_inode.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT

// Every test runs with the lock-free walk and with the locked one only.
class NamespaceTest : public CoreTest,
                      public testing::WithParamInterface<bool> {
 protected:
  NamespaceTest() : CoreTest(VfsOptions{.locked_walk_only = GetParam()}) {}
};

TEST_P(NamespaceTest, CreatesFindsAndRemoves) {
  const Process p = Start();
  EXPECT_EQ(p.Create("/file"), Errno::kOk);
  EXPECT_EQ(p.Create("/file"), Errno::kEEXIST);
  const Result<Statx> stat = p.Stat("/file");
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->mode, kSIfreg | 0644);
  EXPECT_EQ(stat->nlink, 1U);
  EXPECT_EQ(p.TryOpen("/file", kORdOnly), Errno::kOk);
  EXPECT_EQ(p.TryOpen("/missing", kORdOnly), Errno::kENOENT);
  EXPECT_EQ(p.TryOpen("/file/x", kORdOnly), Errno::kENOTDIR);
  EXPECT_EQ(p.TryOpen("/file/", kORdOnly), Errno::kENOTDIR);
  EXPECT_EQ(p.Unlink("/file"), Errno::kOk);
  EXPECT_EQ(p.Unlink("/file"), Errno::kENOENT);
  EXPECT_FALSE(p.Stat("/file").has_value());
}

TEST_P(NamespaceTest, CountsSubdirectories) {
  const Process p = Start();
  EXPECT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  EXPECT_EQ(p.Stat("/")->nlink, 3U);
  EXPECT_EQ(p.Stat("/d")->nlink, 2U);
  EXPECT_EQ(p.MakeDirectory("/d/e"), Errno::kOk);
  EXPECT_EQ(p.Stat("/d")->nlink, 3U);
  EXPECT_EQ(p.Stat("/d")->size, 60U);
  EXPECT_EQ(p.RemoveDirectory("/d"), Errno::kENOTEMPTY);
  EXPECT_EQ(p.RemoveDirectory("/d/e"), Errno::kOk);
  EXPECT_EQ(p.Stat("/d")->nlink, 2U);
  EXPECT_EQ(p.RemoveDirectory("/d"), Errno::kOk);
  EXPECT_EQ(p.Stat("/")->nlink, 2U);
}

// A mount point that the server makes, when nothing is mounted there any more.
TEST_P(NamespaceTest, ADirectoryMadeByTheServerIsLikeAnyOther) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/asked", 0755), Errno::kOk);
  FileSystem& file_system = vfs().top().file_system();
  ASSERT_EQ(
      CreateChild(file_system, file_system.root(), "made",
                  MakeInode(NewDirectory(file_system, 0755, Timestamp::Now()))),
      Errno::kOk);
  const Result<Statx> asked = p.Stat("/asked");
  const Result<Statx> made = p.Stat("/made");
  ASSERT_TRUE(asked.has_value() && made.has_value());
  EXPECT_EQ(made->size, 40U);
  EXPECT_EQ(made->size, asked->size);
  EXPECT_EQ(made->mode, asked->mode);
  EXPECT_EQ(made->nlink, asked->nlink);
  EXPECT_EQ(made->uid, asked->uid);
  EXPECT_EQ(made->gid, asked->gid);
  EXPECT_NE(made->ino, asked->ino);
  EXPECT_EQ(p.Create("/made/file"), Errno::kOk);
  EXPECT_EQ(p.Stat("/made")->size, 60U);
}

TEST_P(NamespaceTest, RenameReplacesAndMoves) {
  const Process p = Start();
  ASSERT_EQ(p.Create("/a"), Errno::kOk);
  ASSERT_EQ(p.Create("/b"), Errno::kOk);
  const uint64_t ino = p.Stat("/a")->ino;
  EXPECT_EQ(p.Rename("/a", "/b"), Errno::kOk);
  EXPECT_EQ(p.Stat("/b")->ino, ino);
  EXPECT_EQ(Process::ErrorOf(p.Stat("/a")), Errno::kENOENT);
  ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/e"), Errno::kOk);
  EXPECT_EQ(p.Rename("/d", "/e/f"), Errno::kOk);
  EXPECT_EQ(p.Stat("/")->nlink, 3U);
  EXPECT_EQ(p.Stat("/e")->nlink, 3U);
  EXPECT_EQ(p.Stat("/e/f/..")->ino, p.Stat("/e")->ino);
  EXPECT_EQ(p.Rename("/e", "/e/f/g"), Errno::kEINVAL);
  EXPECT_EQ(p.Rename("/e/f", "/b"), Errno::kENOTDIR);
  EXPECT_EQ(p.Rename("/b", "/e"), Errno::kEISDIR);
  EXPECT_EQ(p.Rename("/b", "/e/b", kRenameNoreplace), Errno::kOk);
  EXPECT_EQ(p.Rename("/e/b", "/e/f", kRenameExchange), Errno::kOk);
  EXPECT_EQ(p.Stat("/e/f")->ino, ino);
  EXPECT_EQ(p.Stat("/e/b")->mode, kSIfdir | 0755);
}

TEST_P(NamespaceTest, ARemovedDirectoryStillHasItsParent) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  const Result<Handle> handle = p.Open("/d", kORdOnly | kODirectory);
  ASSERT_TRUE(handle.has_value());
  ASSERT_EQ(p.RemoveDirectory("/d"), Errno::kOk);
  EXPECT_EQ(p.Stat(".", 0, kStatxBasicStats, *handle)->nlink, 0U);
  EXPECT_EQ(p.Stat("..", 0, kStatxBasicStats, *handle)->ino, p.Stat("/")->ino);
  EXPECT_EQ(Process::ErrorOf(p.Stat("x", 0, kStatxBasicStats, *handle)),
            Errno::kENOENT);
  EXPECT_EQ(p.TryOpen("x", kOCreat | kOWrOnly, 0644, *handle), Errno::kENOENT);
  EXPECT_EQ(p.Close(*handle), Errno::kOk);
}

TEST_P(NamespaceTest, ListsInPagesWhateverComesAndGoes) {
  const Process p = Start();
  std::set<std::string> stay;
  for (int i = 0; i < 100; ++i) {
    const std::string name = "f" + std::to_string(i);
    ASSERT_EQ(p.Create("/" + name), Errno::kOk);
    if (i % 2 == 1) stay.insert(name);
  }
  std::multiset<std::string> seen;
  uint64_t cursor = 0;
  int page_number = 0;
  do {
    const Result<DirectoryPage> page = p.List("/", cursor, 7);
    ASSERT_TRUE(page.has_value());
    for (const DirectoryEntry& entry : page->entries) seen.insert(entry.name);
    cursor = page->next_cursor;
    // The next entries to come, and some that were there, go; others come.
    const int even = 2 * (page_number % 50);
    p.Unlink("/f" + std::to_string(even));
    ASSERT_EQ(p.Create("/new" + std::to_string(page_number++)), Errno::kOk);
  } while (cursor != 0 && page_number < 1000);
  for (const std::string& name : stay) EXPECT_EQ(seen.count(name), 1U) << name;
}

TEST_P(NamespaceTest, AListingThroughAnONoatimeHandleKeepsTheAccessTime) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(p.Create("/d/file"), Errno::kOk);
  const Result<Handle> plain = p.Open("/d", kORdOnly);
  const Result<Handle> keeping = p.Open("/d", kORdOnly | kONoatime);
  ASSERT_TRUE(plain.has_value() && keeping.has_value());
  const Timestamp before = p.Stat("/d")->atime;
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(p.ListHandle(*keeping)->entries.size(), 1U);
  EXPECT_EQ(p.Stat("/d")->atime, before);
  // The clock may be coarse: it moves on some time.
  while (p.Stat("/d")->atime == before)
    ASSERT_EQ(p.ListHandle(*plain)->entries.size(), 1U);
  EXPECT_EQ(p.Close(*plain), Errno::kOk);
  EXPECT_EQ(p.ListHandle(*plain).error(), Errno::kEBADF);
  EXPECT_EQ(p.Close(*keeping), Errno::kOk);
}

TEST_P(NamespaceTest, GrowsAndShrinks) {
  const Process p = Start();
  constexpr int kFiles = 20000;
  for (int i = 0; i < kFiles; ++i)
    ASSERT_EQ(p.Create("/n" + std::to_string(i)), Errno::kOk);
  EXPECT_EQ(vfs().top().file_system().dentries().size(),
            static_cast<size_t>(kFiles));
  for (int i = 0; i < kFiles; i += 3) {
    ASSERT_EQ(p.Access("/n" + std::to_string(i), 0), Errno::kOk);
  }
  for (int i = 0; i < kFiles; ++i)
    ASSERT_EQ(p.Unlink("/n" + std::to_string(i)), Errno::kOk);
  EXPECT_EQ(vfs().top().file_system().dentries().size(), 0U);
  EXPECT_EQ(p.Stat("/")->size, 40U);
}

INSTANTIATE_TEST_SUITE_P(Walks, NamespaceTest, testing::Values(false, true),
                         [](const auto& param_info) {
                           return param_info.param ? "Locked" : "Fast";
                         });

}  // namespace
}  // namespace vfsd::vfs
