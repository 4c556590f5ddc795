// What opening, reading, closing and removing proc entries costs and promises:
// P1 to P4, and the switch of the fast path "permanent".

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/barrier.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/unit/fs/probe_file.h"
#include "tests/unit/fs/world.h"

namespace vfsd {
namespace {

using testing::Gate;
using testing::kHooked;
using testing::kPlain;
using testing::kProbeContent;
using testing::Probe;
using testing::ProbeFile;
using testing::World;
using testing::WorldOptions;

constexpr int kRounds = 10;

// A world with one permanent entry, /proc/permanent.
WorldOptions WithPermanent(const std::shared_ptr<Probe>& probe, uint8_t flags) {
  WorldOptions options;
  options.core_files.push_back({.path = "permanent",
                                .attributes = {},
                                .provider = std::make_unique<ProbeFile>(
                                    probe, flags | proc::kProviderPermanent)});
  return options;
}

std::shared_ptr<Probe> AddRemovable(World& world, const char* name,
                                    uint8_t flags) {
  auto probe = std::make_shared<Probe>();
  EXPECT_TRUE(world.proc
                  ->AddFile(nullptr, name, {},
                            std::make_unique<ProbeFile>(probe, flags))
                  .has_value());
  return probe;
}

TEST(PermanentEntry, CostsNoUseCountAndNoOpenerRecord) {  // P1
  for (const uint8_t flags : {kPlain, kHooked}) {
    auto probe = std::make_shared<Probe>();
    World world(WithPermanent(probe, flags));
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_EQ(world.ReadAll("/proc/permanent"), std::string(kProbeContent));
    }
    EXPECT_EQ(world.counters.in_use_changes.Sum(), 0);
    EXPECT_EQ(world.counters.openers_allocated.Sum(), 0);
    // One an open, one a read and one a close.
    EXPECT_EQ(world.hits(), 3 * kRounds);
    EXPECT_EQ(world.general(), 0);
    EXPECT_EQ(probe->opens, kRounds);
    EXPECT_EQ(probe->releases, flags == kHooked ? kRounds : 0);
  }
}

TEST(RemovableEntry, WithoutReleaseCostsTwoChangesAnOperation) {  // P1
  World world;
  const auto probe = AddRemovable(world, "removable", kPlain);
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_EQ(world.ReadAll("/proc/removable"), std::string(kProbeContent));
  }
  // Open and read are guarded; there is nothing to do at close.
  EXPECT_EQ(world.counters.in_use_changes.Sum(), 2 * 2 * kRounds);
  EXPECT_EQ(world.counters.openers_allocated.Sum(), 0);
  EXPECT_EQ(world.hits(), 0);
  EXPECT_EQ(world.general(), 0);
}

TEST(RemovableEntry, WithReleaseCostsAnOpenerRecordToo) {  // P1
  World world;
  const auto probe = AddRemovable(world, "removable", kHooked);
  for (int i = 0; i < kRounds; ++i) {
    EXPECT_EQ(world.ReadAll("/proc/removable"), std::string(kProbeContent));
  }
  EXPECT_EQ(world.counters.in_use_changes.Sum(), 2 * 2 * kRounds);
  EXPECT_EQ(world.counters.openers_allocated.Sum(), kRounds);
  sync::RcuBarrier();
  EXPECT_EQ(world.counters.openers_freed.Sum(), kRounds);
  EXPECT_EQ(probe->releases, kRounds);
  EXPECT_EQ(world.hits(), 0);
  EXPECT_EQ(world.general(), 0);
}

TEST(PermanentEntry, SwitchedOffGoesTheWayOfRemovableOnes) {
  for (const uint8_t flags : {kPlain, kHooked}) {
    auto probe = std::make_shared<Probe>();
    World world(WithPermanent(probe, flags));
    world.vfs.fast_paths.Set(vfs::FastPath::kPermanent, false);
    for (int i = 0; i < kRounds; ++i) {
      EXPECT_EQ(world.ReadAll("/proc/permanent"), std::string(kProbeContent));
    }
    EXPECT_EQ(world.counters.in_use_changes.Sum(), 2 * 2 * kRounds);
    EXPECT_EQ(world.counters.openers_allocated.Sum(),
              flags == kHooked ? kRounds : 0);
    EXPECT_EQ(world.hits(), 0);
    EXPECT_EQ(world.general(), 3 * kRounds);
    EXPECT_EQ(probe->releases, flags == kHooked ? kRounds : 0);
  }
}

TEST(PermanentEntry, OpenedOneWayAndClosedTheOtherIsBalanced) {
  for (const uint8_t flags : {kPlain, kHooked}) {
    auto probe = std::make_shared<Probe>();
    World world(WithPermanent(probe, flags));
    int rounds = 0;
    for (const bool at_open : {false, true}) {
      for (const bool at_read : {false, true}) {
        for (const bool at_close : {false, true}) {
          // One more file that stays open in the way of the round.
          world.vfs.fast_paths.Set(vfs::FastPath::kPermanent, at_open);
          const auto handle = world.Open("/proc/permanent");
          const auto other = world.Open("/proc/permanent");
          ASSERT_TRUE(handle.has_value() && other.has_value());
          world.vfs.fast_paths.Set(vfs::FastPath::kPermanent, at_read);
          EXPECT_EQ(world.Read(*handle), std::string(kProbeContent));
          EXPECT_EQ(world.Read(*other, 4), "456789");
          world.vfs.fast_paths.Set(vfs::FastPath::kPermanent, at_close);
          EXPECT_EQ(world.Close(*handle), Errno::kOk);
          EXPECT_EQ(world.Close(*other), Errno::kOk);
          rounds += 2;
          EXPECT_EQ(probe->releases, flags == kHooked ? rounds : 0);
        }
      }
    }
    EXPECT_EQ(world.hits() + world.general(), 3 * rounds);
  }
}

TEST(PermanentEntry, SwitchedUnderLoadStaysBalanced) {
  auto probe = std::make_shared<Probe>();
  World world(WithPermanent(probe, kHooked));
  constexpr int kThreads = 4;
  constexpr int kOpens = 500;
  std::atomic<bool> stop = false;
  std::thread toggler([&] {
    for (bool on = false; !stop; on = !on) {
      world.vfs.fast_paths.Set(vfs::FastPath::kPermanent, on);
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&world] {
      for (int j = 0; j < kOpens; ++j) {
        EXPECT_EQ(world.ReadAll("/proc/permanent"), std::string(kProbeContent));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  toggler.join();
  EXPECT_EQ(probe->opens, kThreads * kOpens);
  EXPECT_EQ(probe->releases, kThreads * kOpens);
  EXPECT_EQ(world.hits() + world.general(), 3 * kThreads * kOpens);
}

TEST(RemovableEntry, FailedOpenLeavesNothing) {
  World world;
  const auto probe = AddRemovable(world, "removable", kHooked);
  probe->open_error = Errno::kENOMEM;
  const auto handle = world.Open("/proc/removable");
  ASSERT_FALSE(handle.has_value());
  EXPECT_EQ(handle.error(), Errno::kENOMEM);
  EXPECT_EQ(probe->releases, 0);
  EXPECT_EQ(world.counters.openers_allocated.Sum(), 1);
  EXPECT_EQ(world.counters.openers_freed.Sum(), 1);
  EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
}

TEST(ProcEntry, WithoutReadOpensAndReadsEio) {
  auto permanent = std::make_shared<Probe>();
  World world(WithPermanent(permanent, 0));
  AddRemovable(world, "removable", 0);
  for (const char* path : {"/proc/permanent", "/proc/removable"}) {
    const auto handle = world.Open(path);
    ASSERT_TRUE(handle.has_value());
    EXPECT_EQ(world.Read(*handle), Fail(Errno::kEIO));
    EXPECT_EQ(world.Close(*handle), Errno::kOk);
  }
}

TEST(Removal, WaitsForTheReaderInsideAndNotForIdleFiles) {  // P2
  for (const uint8_t flags : {kPlain, kHooked}) {
    World world;
    const auto probe = AddRemovable(world, "removable", flags);
    const auto busy = world.Open("/proc/removable");
    const auto idle = world.Open("/proc/removable");
    ASSERT_TRUE(busy.has_value() && idle.has_value());
    Gate gate;
    probe->read_gate = &gate;
    std::atomic<bool> reader_may_leave = false;
    std::thread reader(
        [&] { EXPECT_EQ(world.Read(*busy), std::string(kProbeContent)); });
    gate.entered.WaitForNotification();
    std::thread remover([&] {
      EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
      // Not before the reader was let go; and the idle file did not matter.
      EXPECT_TRUE(reader_may_leave);
      EXPECT_TRUE(probe->ended);
    });
    // The removal has begun once the name is gone and uses are refused.
    while (world.Read(*idle) != Fail(Errno::kEIO)) std::this_thread::yield();
    EXPECT_EQ(world.Stat("/proc/removable"), Fail(Errno::kENOENT));
    EXPECT_FALSE(probe->ended);
    reader_may_leave = true;
    gate.leave.Notify();
    reader.join();
    remover.join();
    EXPECT_EQ(probe->releases, flags == kHooked ? 2 : 0);
    EXPECT_EQ(world.Close(*busy), Errno::kOk);
    EXPECT_EQ(world.Close(*idle), Errno::kOk);
    EXPECT_EQ(probe->releases, flags == kHooked ? 2 : 0);
  }
}

TEST(Removal, LeavesOpenFilesThatAnswerErrors) {  // P3
  World world;
  const auto probe = AddRemovable(world, "removable", kHooked);
  const auto handle = world.Open("/proc/removable");
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(world.Read(*handle), std::string(kProbeContent));
  EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
  EXPECT_EQ(probe->releases, 1);
  EXPECT_TRUE(probe->ended);
  EXPECT_EQ(world.Read(*handle), Fail(Errno::kEIO));
  EXPECT_EQ(world.Read(*handle, 5), Fail(Errno::kEIO));
  EXPECT_EQ(world.Open("/proc/removable"), Fail(Errno::kENOENT));
  const auto stat = world.StatHandle(*handle);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->nlink, 0U);
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
  EXPECT_EQ(probe->releases, 1);
  EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kENOENT);
}

TEST(Removal, OpenThatComesTooLateIsEnoent) {  // P3
  World world;
  for (const uint8_t flags : {kPlain, kHooked}) {
    const auto probe = AddRemovable(world, "removable", flags);
    // A walk that found the entry right before it went, and keeps its inode.
    const auto entry = world.proc->Find(nullptr, "removable");
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
    const auto file =
        world.vfs.files.AllocateEmpty(0, world.session->credentials());
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(entry->inode().synthetic_file().Open(**file), Errno::kENOENT);
    world.vfs.files.ReleaseEmpty(*file);
    EXPECT_EQ(probe->opens, 0);
    EXPECT_EQ(probe->releases, 0);
  }
}

TEST(Removal, OfANameThatIsOpenedMeanwhileIsOpenedOrEnoent) {  // P3
  World world;
  constexpr int kEntries = 300;
  std::atomic<int> round = 0;
  std::atomic<bool> stop = false;
  std::vector<std::thread> openers;
  for (int i = 0; i < 2; ++i) {
    openers.emplace_back([&] {
      while (!stop) {
        const auto text = world.ReadAll("/proc/removable");
        if (text.has_value()) {
          EXPECT_EQ(*text, kProbeContent);
        } else {
          // Gone before the open, or between open and read.
          EXPECT_TRUE(text.error() == Errno::kENOENT ||
                      text.error() == Errno::kEIO)
              << ErrnoName(text.error());
        }
      }
    });
  }
  for (; round < kEntries; ++round) {
    const auto probe =
        AddRemovable(world, "removable", round % 2 == 0 ? kPlain : kHooked);
    std::this_thread::yield();
    EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
    EXPECT_TRUE(probe->ended);
    if (round % 2 == 1) {
      EXPECT_EQ(probe->opens, probe->releases);
    }
  }
  stop = true;
  for (std::thread& opener : openers) opener.join();
}

TEST(Removal, ThatFindsACloseUnderWayWaitsForIt) {  // P4
  World world;
  const auto probe = AddRemovable(world, "removable", kHooked);
  const auto handle = world.Open("/proc/removable");
  ASSERT_TRUE(handle.has_value());
  Gate gate;
  probe->release_gate = &gate;
  std::thread closer([&] {
    EXPECT_EQ(world.Close(*handle), Errno::kOk);
    EXPECT_EQ(probe->releases, 1);
  });
  gate.entered.WaitForNotification();
  std::thread remover([&] {
    EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
    // It has waited for the hook that the close called, and called none.
    EXPECT_EQ(probe->releases, 1);
    EXPECT_TRUE(probe->ended);
  });
  while (world.proc->Find(nullptr, "removable") != nullptr) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(probe->ended);
  gate.leave.Notify();
  closer.join();
  remover.join();
  EXPECT_EQ(probe->releases_begun, 1);
}

TEST(Removal, IsWaitedForByTheCloseThatFindsItUnderWay) {  // P4
  World world;
  const auto probe = AddRemovable(world, "removable", kHooked);
  const auto handle = world.Open("/proc/removable");
  ASSERT_TRUE(handle.has_value());
  Gate gate;
  probe->release_gate = &gate;
  std::thread remover([&] {
    EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
    EXPECT_EQ(probe->releases, 1);
  });
  gate.entered.WaitForNotification();
  std::thread closer([&] {
    EXPECT_EQ(world.Close(*handle), Errno::kOk);
    EXPECT_EQ(probe->releases, 1);
  });
  // The handle goes first; the close then is at the hook, or about to be.
  while (world.StatHandle(*handle).has_value()) std::this_thread::yield();
  EXPECT_EQ(probe->releases, 0);
  gate.leave.Notify();
  closer.join();
  remover.join();
  EXPECT_EQ(probe->releases_begun, 1);
}

TEST(Removal, RacingCloseReleasesExactlyOnce) {  // P4
  World world;
  constexpr int kRaces = 200;
  constexpr int kFiles = 3;
  for (int i = 0; i < kRaces; ++i) {
    const auto probe = AddRemovable(world, "removable", kHooked);
    std::vector<vfs::Handle> handles;
    for (int j = 0; j < kFiles; ++j) {
      const auto handle = world.Open("/proc/removable");
      ASSERT_TRUE(handle.has_value());
      handles.push_back(*handle);
    }
    absl::Barrier* const start = new absl::Barrier(2);
    std::thread closer([&] {
      if (start->Block()) delete start;
      int closed = 0;
      for (const vfs::Handle handle : handles) {
        EXPECT_EQ(world.Close(handle), Errno::kOk);
        ++closed;
        EXPECT_GE(probe->releases, closed);
      }
    });
    if (start->Block()) delete start;
    EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
    EXPECT_EQ(probe->releases, kFiles);
    EXPECT_TRUE(probe->ended);
    closer.join();
    EXPECT_EQ(probe->releases_begun, kFiles);
  }
}

}  // namespace
}  // namespace vfsd
