// Lookups and listings of what stays, beside what comes and goes: growth of the
// dentry table, removals, permissions that change.

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "tests/stress/load.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT
using stress::Load;
using stress::Random;

class LookupStressTest : public VariantTest {};

TEST_P(LookupStressTest, TableGrowthAndDeletionAgainstLookups) {
  constexpr int kStable = 500;
  constexpr int kWave = 20'000;  // several growths of every shard
  const Process main = Start();
  ASSERT_EQ(main.MakeDirectory("/d"), Errno::kOk);
  std::vector<uint64_t> inos;
  for (int i = 0; i < kStable; ++i) {
    const std::string name = "/d/stable" + std::to_string(i);
    ASSERT_EQ(main.Create(name), Errno::kOk);
    inos.push_back(main.Stat(name)->ino);
  }
  const Process writer = Start();
  const Process remover = Start();
  const Process reader = Start();
  std::atomic<int> wave{0};
  Load load;
  load.Add([&, next = 0](Random&) mutable {
    // Waves: up, and down again, so that arrays grow, fill with tombstones and
    // shrink.
    const int position = next++ % (2 * kWave);
    const std::string name = "/d/w" + std::to_string(position % kWave);
    const Errno error =
        position < kWave ? writer.Create(name) : writer.Unlink(name);
    EXPECT_EQ(error, Errno::kOk);
    wave.store(position);
  });
  load.Add([&, next = 0](Random&) mutable {
    // Another directory of the same table: nothing but tombstones.
    const std::string name = "/t" + std::to_string(next++);
    EXPECT_EQ(remover.Create(name), Errno::kOk);
    EXPECT_EQ(remover.Unlink(name), Errno::kOk);
  });
  load.Add([&](Random& random) {
    const size_t i = random() % kStable;
    const std::string name = "/d/stable" + std::to_string(i);
    const Result<Statx> stat = reader.Stat(name);
    ASSERT_TRUE(stat.has_value()) << name;
    EXPECT_EQ(stat->ino, inos[i]);
    EXPECT_EQ(reader.TryOpen(name, kORdOnly), Errno::kOk);
    EXPECT_EQ(reader.TryOpen("/d/never" + std::to_string(i), kORdOnly),
              Errno::kENOENT);
    // What this wave has made long since and not yet removed is there.
    const int position = wave.load();
    if (position > 1000 && position < kWave) {
      const int made =
          static_cast<int>(random() % static_cast<uint64_t>(position));
      const Errno error = reader.Access("/d/w" + std::to_string(made), 0);
      if (wave.load() >= position && wave.load() < kWave) {
        EXPECT_EQ(error, Errno::kOk) << made;
      }
    }
  });
  load.Wait();
  stress::Report(load);
}

TEST_P(LookupStressTest, CursorsAcrossRemovals) {
  constexpr int kStable = 100;
  const Process main = Start();
  ASSERT_EQ(main.MakeDirectory("/d"), Errno::kOk);
  std::set<std::string> stable;
  for (int i = 0; i < kStable; ++i) {
    ASSERT_EQ(main.Create("/d/gone" + std::to_string(i)), Errno::kOk);
    ASSERT_EQ(main.Create("/d/stable" + std::to_string(i)), Errno::kOk);
    stable.insert("stable" + std::to_string(i));
  }
  const Process changer = Start();
  const Process reader = Start();
  Load load;
  load.Add([&](Random& random) {
    const std::string name = "/d/gone" + std::to_string(random() % kStable);
    switch (random() % 3) {
      case 0:
        changer.Create(name);
        break;
      case 1:
        changer.Unlink(name);
        break;
      default:
        changer.Rename(name, "/d/gone" + std::to_string(random() % kStable));
    }
  });
  load.Add([&](Random& random) {
    std::multiset<std::string> seen;
    uint64_t cursor = 0;
    do {
      const Result<DirectoryPage> page =
          reader.List("/d", cursor, 1 + static_cast<uint32_t>(random() % 20));
      ASSERT_TRUE(page.has_value());
      for (const DirectoryEntry& entry : page->entries) seen.insert(entry.name);
      ASSERT_TRUE(page->next_cursor == 0 || page->next_cursor > cursor);
      cursor = page->next_cursor;
    } while (cursor != 0);
    for (const std::string& name : stable)
      EXPECT_EQ(seen.count(name), 1U) << name;
  });
  load.Wait();
  stress::Report(load);
}

// A directory passes between two states in each of which the user may search
// it, by different bits: as the owner, or as anybody. A walk that saw the owner
// of one and the mode of the other would be refused.
TEST_P(LookupStressTest, ChangesOfModeAndOwnerAreSeenWhole) {
  const Process root = Start();
  ASSERT_EQ(root.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(root.MakeDirectory("/d/e"), Errno::kOk);
  ASSERT_EQ(root.Create("/d/e/f", 0666), Errno::kOk);
  const Process user = Start(1000, 1000);
  Load load(0.5);
  load.Add([&, owned = false](Random&) mutable {
    owned = !owned;
    SetAttributesOperation change;
    change.path = "/d/e";
    change.changes_owner = true;
    change.uid = owned ? 1000 : 0;
    change.gid = 0;
    change.mode = owned ? 0700 : 0077;  // root passes anyway
    EXPECT_EQ(root.SetAttributes(change), Errno::kOk);
  });
  load.Add([&](Random&) {
    EXPECT_EQ(Process::ErrorOf(user.Stat("/d/e/f")), Errno::kOk);
    EXPECT_EQ(user.TryOpen("/d/e/missing", kORdOnly), Errno::kENOENT);
    EXPECT_EQ(Process::ErrorOf(user.Stat("/d/e/../e/./f")), Errno::kOk);
  });
  load.Wait();
  stress::Report(load);
}

INSTANTIATE_TEST_SUITE_P(Variants, LookupStressTest,
                         testing::Values(CoreVariant{true, false},
                                         CoreVariant{false, true}),
                         CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
