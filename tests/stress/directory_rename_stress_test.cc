// Directories that are renamed: under walks through them, and across each
// other.

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/stress/load.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT
using stress::Load;
using stress::Random;

class DirectoryRenameStressTest : public VariantTest {
 protected:
  static Errno RenameAt(Executor& executor, const Process& p, Handle from_dir,
                        const std::string& from, Handle to_dir,
                        const std::string& to, uint32_t flags) {
    RenameOperation operation;
    operation.old_dir = from_dir;
    operation.old_path = from;
    operation.new_dir = to_dir;
    operation.new_path = to;
    operation.flags = flags;
    return Process::ErrorOf(executor.Execute(p.caller(), operation));
  }
};

TEST_P(DirectoryRenameStressTest, WalksAgainstRenamesOfTheirAncestors) {
  const Process mover = Start();
  for (const char* const path :
       {"/a", "/a/b", "/a/b/c", "/a/b/c/d", "/a/b/c/d/e", "/x", "/x/y"}) {
    ASSERT_EQ(mover.MakeDirectory(path), Errno::kOk);
  }
  ASSERT_EQ(mover.Create("/a/b/c/d/e/file"), Errno::kOk);
  ASSERT_EQ(mover.MakeSymlink("../../../../x/y/c/d/e/file", "/a/b/c/d/link"),
            Errno::kOk);
  const uint64_t file = mover.Stat("/a/b/c/d/e/file")->ino;
  const uint64_t root = mover.Stat("/")->ino;
  const uint64_t d = mover.Stat("/a/b/c/d")->ino;
  std::vector<Process> walkers;
  for (int t = 0; t < 2; ++t) walkers.push_back(Start());
  std::vector<Handle> handles;
  for (const Process& walker : walkers)
    handles.push_back(*walker.Open("/a/b/c/d/e", kOPath));
  std::atomic<uint64_t> found{0};
  Load load;
  load.Add([&, at_home = true](Random& random) mutable {
    // The middle of the path, between two depths.
    const Errno error = at_home ? mover.Rename("/a/b/c", "/x/y/c")
                                : mover.Rename("/x/y/c", "/a/b/c");
    EXPECT_EQ(error, Errno::kOk);
    at_home = !at_home;
    if (random() % 4 == 0) std::this_thread::yield();
  });
  for (size_t t = 0; t < walkers.size(); ++t) {
    load.Add([&, t](Random& random) {
      const Process& p = walkers[t];
      const auto check = [&](const Result<Statx>& stat, uint64_t ino) {
        if (stat.has_value()) {
          EXPECT_EQ(stat->ino, ino);
          ++found;
        } else {
          EXPECT_EQ(stat.error(), Errno::kENOENT);
        }
      };
      switch (random() % 5) {
        case 0:
          check(p.Stat("/a/b/c/d/e/file"), file);
          break;
        case 1:
          check(p.Stat("/x/y/c/d/e/file"), file);
          break;
        case 2: {
          // By handle it is always there, and the way up always ends at "/".
          const Result<Statx> stat =
              p.Stat("file", 0, kStatxBasicStats, handles[t]);
          ASSERT_TRUE(stat.has_value());
          EXPECT_EQ(stat->ino, file);
          const Result<Statx> up =
              p.Stat("../../../../..", 0, kStatxBasicStats, handles[t]);
          ASSERT_TRUE(up.has_value());
          EXPECT_EQ(up->ino, root);
          break;
        }
        case 3: {
          const Result<Statx> up =
              p.Stat("..", 0, kStatxBasicStats, handles[t]);
          ASSERT_TRUE(up.has_value());
          EXPECT_EQ(up->ino, d);
          break;
        }
        default:
          check(p.Stat("/x/y/c/d/link"), file);
          EXPECT_EQ(p.TryOpen("/a/b/c/d/e/none", kORdOnly), Errno::kENOENT);
      }
    });
  }
  load.Wait();
  stress::Report(load);
  EXPECT_GT(found.load(), 0U);
}

// Directories moved into each other at random, also across: no tree is lost or
// becomes its own ancestor, nothing deadlocks, and link counts come out right.
TEST_P(DirectoryRenameStressTest, CrossingRenamesLoseNoTree) {
  constexpr size_t kDirectories = 6;
  constexpr size_t kThreads = 3;
  const Process main = Start();
  ASSERT_EQ(main.MakeDirectory("/r"), Errno::kOk);
  std::vector<Process> movers;
  for (size_t t = 0; t < kThreads; ++t) movers.push_back(Start());
  const auto name = [](size_t i) { return "d" + std::to_string(i); };
  for (size_t i = 0; i < kDirectories; ++i) {
    ASSERT_EQ(main.MakeDirectory("/r/" + name(i)), Errno::kOk);
    ASSERT_EQ(main.Create("/r/" + name(i) + "/mark" + std::to_string(i)),
              Errno::kOk);
  }
  const uint64_t ino_of_r = main.Stat("/r")->ino;
  // Each mover's handles; the last one is /r itself.
  std::vector<std::vector<Handle>> handles(kThreads);
  for (size_t t = 0; t < kThreads; ++t) {
    for (size_t i = 0; i < kDirectories; ++i)
      handles[t].push_back(*movers[t].Open("/r/" + name(i), kOPath));
    handles[t].push_back(*movers[t].Open("/r", kOPath));
  }
  std::atomic<uint64_t> moved{0};
  uint64_t rounds = 0;
  const auto deadline = std::chrono::steady_clock::now() + stress::LoadTime();
  Random seeds(stress::Seed());
  while (std::chrono::steady_clock::now() < deadline && !HasFailure()) {
    ++rounds;
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t, seed = seeds()] {
        Random random(seed);
        for (int i = 0; i < 300; ++i) {
          const Handle from = handles[t][random() % (kDirectories + 1)];
          const Handle to = handles[t][random() % (kDirectories + 1)];
          const std::string what = name(random() % kDirectories);
          Errno error;
          if (random() % 4 == 0) {
            const std::string other = name(random() % kDirectories);
            error = RenameAt(executor(), movers[t], from, what, to, other,
                             kRenameExchange);
          } else {
            error = RenameAt(executor(), movers[t], from, what, to, what, 0);
          }
          if (error == Errno::kOk) {
            ++moved;
          } else {
            EXPECT_TRUE(error == Errno::kENOENT || error == Errno::kEINVAL)
                << ErrnoName(error);
          }
          // The way up from anywhere ends at "/".
          const Result<Statx> up = movers[t].Stat("../../../../../../../..", 0,
                                                  kStatxBasicStats, from);
          EXPECT_TRUE(up.has_value());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    // Quiet: the whole tree, from the top.
    std::map<std::string, int> seen;
    std::vector<std::string> todo = {"/r"};
    while (!todo.empty()) {
      const std::string path = todo.back();
      todo.pop_back();
      const Result<DirectoryPage> page = main.List(path);
      ASSERT_TRUE(page.has_value()) << path;
      uint32_t subdirectories = 0;
      int marks_here = 0;
      for (const DirectoryEntry& entry : page->entries) {
        const bool directory = entry.name[0] == 'd';
        ++seen[entry.name];
        if (!directory) {
          ++marks_here;
          continue;
        }
        ++subdirectories;
        todo.push_back(path + "/" + entry.name);
        EXPECT_EQ(main.Stat(todo.back() + "/..")->ino, main.Stat(path)->ino);
      }
      EXPECT_EQ(main.Stat(path)->nlink, 2 + subdirectories) << path;
      // A mark never leaves its directory.
      EXPECT_EQ(marks_here, path == "/r" ? 0 : 1) << path;
    }
    // Every name once (exchanges change which directory has it).
    size_t directories = 0;
    size_t marks = 0;
    for (const auto& [entry, count] : seen) {
      EXPECT_EQ(count, 1) << entry;
      (entry[0] == 'd' ? directories : marks) += 1;
    }
    EXPECT_EQ(directories, kDirectories);
    EXPECT_EQ(marks, kDirectories);
    EXPECT_EQ(main.Stat("/r")->ino, ino_of_r);
  }
  std::cout << rounds << " rounds, " << moved.load() << " moves" << std::endl;
  EXPECT_GT(moved.load(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Variants, DirectoryRenameStressTest,
                         testing::Values(CoreVariant{true, false},
                                         CoreVariant{false, true}),
                         CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
