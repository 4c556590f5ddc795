// C7: opens, closes, renames, links and removals of the same few names by many
// threads; afterwards every count is what it was, and while they run no file
// ever belongs to two, or to nobody.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/stress/load.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT
using stress::Load;
using stress::Random;

class ReferenceStressTest : public VariantTest {};

TEST_P(ReferenceStressTest, C7CountsAreBackAfterEverythingAtOnce) {
  constexpr int kThreads = 4;
  const Process main = Start();
  ASSERT_EQ(main.MakeDirectory("/a"), Errno::kOk);
  ASSERT_EQ(main.MakeDirectory("/b"), Errno::kOk);
  sync::RcuBarrier();
  const live_objects::Snapshot objects = live_objects::TakeSnapshot();
  const int64_t mount_references = vfs().top().references();
  {
    std::vector<Process> processes;
    std::vector<std::vector<Handle>> handles(kThreads);
    for (int t = 0; t < kThreads; ++t) processes.push_back(Start());
    Load load(0.5);
    for (size_t t = 0; t < kThreads; ++t) {
      load.Add([&p = processes[t], &open = handles[t]](Random& random) {
        const auto name = [&random] {
          return std::string(random() % 2 == 0 ? "/a/n" : "/b/n") +
                 std::to_string(random() % 3);
        };
        switch (random() % 10) {
          case 0:
            p.TryOpen(name(), kOCreat | kORdWr);
            break;
          case 1:
            p.TryOpen(name(), kORdOnly | kOTrunc);
            break;
          case 2:
            p.Unlink(name());
            break;
          case 3:
            p.Rename(name(), name(), random() % 3 == 0 ? kRenameExchange : 0);
            break;
          case 4:
            p.MakeLink(name(), name());
            break;
          case 5:
            p.MakeDirectory(name());
            break;
          case 6:
            p.RemoveDirectory(name());
            break;
          case 7: {
            const Result<Handle> handle =
                p.Open(name(), random() % 2 == 0 ? kOPath : kOCreat | kORdWr);
            if (handle.has_value()) open.push_back(*handle);
            break;
          }
          case 8:
            if (!open.empty()) {
              EXPECT_TRUE(p.StatHandle(open.back()).has_value());
              EXPECT_EQ(p.Close(open.back()), Errno::kOk);
              open.pop_back();
            }
            break;
          default:
            p.Stat(name());
            p.List("/a");
        }
        if (open.size() > 20) {
          for (const Handle handle : open)
            EXPECT_EQ(p.Close(handle), Errno::kOk);
          open.clear();
        }
      });
    }
    load.Wait();
    stress::Report(load);
    uint64_t handles_left = 0;
    for (size_t t = 0; t < kThreads; ++t) handles_left += handles[t].size();
    EXPECT_EQ(static_cast<uint64_t>(vfs().files.nr_files()), handles_left);
    for (const Process& p : processes) {
      EXPECT_TRUE(sessions().Close(p.session().id(), nullptr));
    }
  }
  EXPECT_EQ(vfs().files.nr_files(), 0);
  EXPECT_EQ(vfs().top().writers(), 0);
  // What is left has as many links as names, one reference for them and Pin's.
  std::map<uint64_t, uint32_t> names;
  for (const char* const directory : {"/a", "/b"}) {
    for (const DirectoryEntry& entry : Entries(main, directory))
      ++names[entry.ino];
  }
  for (const char* const directory : {"/a", "/b"}) {
    for (const DirectoryEntry& entry : Entries(main, directory)) {
      const std::string path = std::string(directory) + "/" + entry.name;
      const PinnedPath pinned = Pin(main, path);
      EXPECT_EQ(pinned.inode().references.Read(), 2U) << path;
      if (pinned.inode().IsDirectory()) {
        EXPECT_EQ(pinned.inode().nlink(), 2U);
        EXPECT_EQ(main.RemoveDirectory(path), Errno::kOk);
      } else {
        EXPECT_EQ(pinned.inode().nlink(), names[entry.ino]) << path;
        --names[entry.ino];
        EXPECT_EQ(main.Unlink(path), Errno::kOk);
      }
    }
    EXPECT_EQ(main.Stat(directory)->nlink, 2U);
    EXPECT_EQ(main.Stat(directory)->size, 40U);
  }
  sync::RcuBarrier();
  EXPECT_EQ(vfs().top().references(), mount_references);
  EXPECT_EQ(live_objects::TakeSnapshot(), objects);
}

INSTANTIATE_TEST_SUITE_P(Variants, ReferenceStressTest,
                         testing::ValuesIn(kCoreVariants), CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
