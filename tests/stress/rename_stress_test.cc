// Files that are renamed under lookups. What a lookup may say follows from the
// renames that were over when it began and those that had begun when it ended.

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "tests/stress/load.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT
using stress::Load;
using stress::Random;

class RenameStressTest : public VariantTest {
 protected:
  // Whether a name is there, asked in one of several ways. Nothing but "yes"
  // and ENOENT is an answer.
  static bool Exists(const Process& p, const std::string& path, uint64_t ino,
                     Random& random) {
    Errno error = Errno::kOk;
    switch (random() % 3) {
      case 0: {
        const Result<Statx> stat = p.Stat(path);
        error = Process::ErrorOf(stat);
        if (stat.has_value() && ino != 0) {
          EXPECT_EQ(stat->ino, ino);
        }
        break;
      }
      case 1:
        error = p.TryOpen(path, kORdOnly);
        break;
      default:
        error = p.Access(path, kROk);
    }
    if (error != Errno::kOk) {
      EXPECT_EQ(error, Errno::kENOENT) << path;
    }
    return error == Errno::kOk;
  }

  // Renames a file back and forth between `first` and `second`; readers check
  // that it is never missing under both names, nor there under both, in an
  // order that real time forbids.
  void RenameBackAndForth(const std::string& first, const std::string& second) {
    const Process mover = Start();
    ASSERT_EQ(mover.Create(first), Errno::kOk);
    const uint64_t ino = mover.Stat(first)->ino;
    // Renames begun and over. After an even number it is at `first`.
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> over{0};
    std::atomic<uint64_t> checked{0};
    std::vector<Process> readers;
    for (int t = 0; t < 2; ++t) readers.push_back(Start());
    Load load(0.5);
    load.Add([&](Random& random) {
      const uint64_t next = begun.load() + 1;
      begun.store(next);
      const Errno error = next % 2 == 1 ? mover.Rename(first, second)
                                        : mover.Rename(second, first);
      EXPECT_EQ(error, Errno::kOk);
      over.store(next);
      // Long enough, often enough, for readers to fit in between.
      for (uint64_t i = random() % 200; i > 0; --i) sync::SpinPause();
      if (random() % 8 == 0) std::this_thread::yield();
    });
    for (const Process& reader : readers) {
      load.Add([&](Random& random) {
        const uint64_t before = over.load();
        const bool at_first = Exists(reader, first, ino, random);
        const bool at_second = Exists(reader, second, ino, random);
        const uint64_t after = begun.load();
        if (after > before + 1) return;  // too much happened to tell
        ++checked;
        const bool was_first = before % 2 == 0;
        if (after == before) {
          EXPECT_EQ(at_first, was_first);
          EXPECT_EQ(at_second, !was_first);
        } else if (was_first) {
          // One rename, from the name asked for first to the other.
          EXPECT_TRUE(at_first || at_second) << "missing under both names";
        } else {
          EXPECT_FALSE(at_first && at_second) << "there under both names";
        }
      });
    }
    load.Wait();
    stress::Report(load);
    EXPECT_GT(checked.load(), 0U);
    EXPECT_GT(over.load(), 0U);
  }
};

TEST_P(RenameStressTest, AFileIsUnderExactlyOneOfTwoNames) {
  RenameBackAndForth("/one", "/two");
}

TEST_P(RenameStressTest, AFileIsInExactlyOneOfTwoDirectories) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/a"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/a/b"), Errno::kOk);
  ASSERT_EQ(p.MakeDirectory("/c"), Errno::kOk);
  RenameBackAndForth("/a/b/f", "/c/f");
}

TEST_P(RenameStressTest, ANameThatIsReplacedIsNeverMissing) {
  const Process writer = Start();
  const Process reader = Start();
  ASSERT_EQ(writer.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(writer.MakeDirectory("/tmp"), Errno::kOk);
  ASSERT_EQ(writer.Create("/d/name"), Errno::kOk);
  Load load(0.5);
  load.Add([&](Random& random) {
    const char* const fresh = random() % 2 == 0 ? "/d/fresh" : "/tmp/fresh";
    EXPECT_EQ(writer.Create(fresh), Errno::kOk);
    EXPECT_EQ(writer.Rename(fresh, "/d/name"), Errno::kOk);
  });
  load.Add([&](Random& random) {
    EXPECT_TRUE(Exists(reader, "/d/name", 0, random));
    const Result<DirectoryPage> page = reader.List("/d");
    ASSERT_TRUE(page.has_value());
    int seen = 0;
    for (const DirectoryEntry& entry : page->entries)
      seen += entry.name == "name" ? 1 : 0;
    EXPECT_EQ(seen, 1);
  });
  load.Wait();
  stress::Report(load);
}

TEST_P(RenameStressTest, ExchangedNamesAreNeverMissingNorTheSame) {
  const Process writer = Start();
  const Process reader = Start();
  ASSERT_EQ(writer.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(writer.Create("/x"), Errno::kOk);
  ASSERT_EQ(writer.MakeDirectory("/d/y"), Errno::kOk);
  const uint64_t file = writer.Stat("/x")->ino;
  const uint64_t directory = writer.Stat("/d/y")->ino;
  std::atomic<uint64_t> begun{0};
  std::atomic<uint64_t> over{0};
  Load load(0.5);
  load.Add([&](Random& random) {
    const uint64_t next = begun.load() + 1;
    begun.store(next);
    EXPECT_EQ(writer.Rename("/x", "/d/y", kRenameExchange), Errno::kOk);
    over.store(next);
    for (uint64_t i = random() % 200; i > 0; --i) sync::SpinPause();
  });
  load.Add([&](Random&) {
    const uint64_t before = over.load();
    const Result<Statx> x = reader.Stat("/x");
    const Result<Statx> y = reader.Stat("/d/y");
    const uint64_t after = begun.load();
    ASSERT_TRUE(x.has_value() && y.has_value());
    EXPECT_TRUE(x->ino == file || x->ino == directory);
    EXPECT_TRUE(y->ino == file || y->ino == directory);
    if (after == before) {
      EXPECT_NE(x->ino, y->ino);
    }
  });
  load.Wait();
  stress::Report(load);
  EXPECT_EQ(writer.Stat("/")->nlink, over.load() % 2 == 0 ? 3U : 4U);
}

INSTANTIATE_TEST_SUITE_P(Variants, RenameStressTest,
                         testing::Values(CoreVariant{true, false},
                                         CoreVariant{false, true}),
                         CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
