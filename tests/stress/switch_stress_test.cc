// Fast paths switched on and off under load: no answer changes.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/stress/load.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT
using stress::Load;
using stress::Random;

class SwitchStressTest : public CoreTest {
 protected:
  SwitchStressTest() : CoreTest(VfsOptions{.max_handles_per_session = 4}) {}
};

TEST_F(SwitchStressTest, SwitchesUnderLoadChangeNoAnswer) {
  constexpr int kThreads = 3;
  const Process main = Start();
  ASSERT_EQ(main.Create("/shared"), Errno::kOk);
  ASSERT_EQ(main.MakeNode("/socket", kSIfsock | 0666), Errno::kOk);
  std::vector<Process> processes;
  for (int t = 0; t < kThreads; ++t) {
    processes.push_back(Start());
    ASSERT_EQ(main.MakeDirectory("/" + std::to_string(t)), Errno::kOk);
  }
  Load load;
  load.Add([this](Random& random) {
    const FastPath path = kAllFastPaths[random() % kFastPathCount];
    vfs().fast_paths.Set(path, random() % 2 == 0);
  });
  for (int t = 0; t < kThreads; ++t) {
    load.Add([&p = processes[static_cast<size_t>(t)], t](Random&) {
      // In a directory of its own every answer is known beforehand.
      const std::string directory = "/" + std::to_string(t);
      const std::string f = directory + "/f";
      const std::string g = directory + "/g";
      ASSERT_EQ(p.TryOpen(f, kORdOnly), Errno::kENOENT);
      const Result<Handle> handle = p.Open(f, kOCreat | kOExcl | kORdWr, 0640);
      ASSERT_TRUE(handle.has_value());
      const Result<Statx> by_handle = p.StatHandle(*handle);
      ASSERT_TRUE(by_handle.has_value());
      EXPECT_EQ(by_handle->mode, kSIfreg | 0640);
      EXPECT_EQ(by_handle->nlink, 1U);
      EXPECT_EQ(by_handle->ino, p.Stat(f)->ino);
      EXPECT_EQ(p.Stat("", kAtEmptyPath, 0x7ff, *handle)->ino, by_handle->ino);
      EXPECT_EQ(p.TryOpen(f, kOCreat | kOExcl | kORdWr), Errno::kEEXIST);
      EXPECT_EQ(p.TryOpen(f, kORdOnly | kODirectory), Errno::kENOTDIR);
      EXPECT_EQ(p.TryOpen(f, kORdWr | kOTrunc), Errno::kOk);
      EXPECT_EQ(p.TryOpen(directory, kORdWr), Errno::kEISDIR);
      EXPECT_EQ(p.TryOpen("/socket", kORdOnly), Errno::kENXIO);
      EXPECT_EQ(p.TryOpen("/shared", kORdWr), Errno::kOk);
      // Up to the table's limit, and not one more.
      std::vector<Handle> more;
      for (int i = 0; i < 3; ++i) more.push_back(*p.Open("/shared", kORdOnly));
      EXPECT_EQ(p.TryOpen("/shared", kORdOnly), Errno::kEMFILE);
      EXPECT_EQ(p.TryOpen("/missing", kORdOnly), Errno::kEMFILE);
      for (const Handle each : more) EXPECT_EQ(p.Close(each), Errno::kOk);
      ASSERT_EQ(p.Rename(f, g), Errno::kOk);
      EXPECT_EQ(p.StatHandle(*handle)->ino, p.Stat(g)->ino);
      ASSERT_EQ(p.Unlink(g), Errno::kOk);
      EXPECT_EQ(p.StatHandle(*handle)->nlink, 0U);
      EXPECT_EQ(p.Close(*handle), Errno::kOk);
      EXPECT_EQ(Process::ErrorOf(p.StatHandle(*handle)), Errno::kEBADF);
    });
  }
  load.Wait();
  stress::Report(load);
  // Both ways were gone, of each path that a core without proc has.
  for (const FastPath path : {FastPath::kReleaseEmpty, FastPath::kOpenConsume,
                              FastPath::kEmptyPath}) {
    EXPECT_GT(vfs().fast_paths.hits(path), 0) << FastPathName(path);
    EXPECT_GT(vfs().fast_paths.general(path), 0) << FastPathName(path);
  }
  EXPECT_EQ(vfs().files.nr_files(), 0);
}

}  // namespace
}  // namespace vfsd::vfs
