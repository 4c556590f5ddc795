// Sessions that end while calls run in them.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "tests/stress/load.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT
using stress::Load;
using stress::Random;

class SessionStressTest : public VariantTest {};

TEST_P(SessionStressTest, CloseAgainstOperations) {
  constexpr size_t kSessions = 4;
  const Process main = Start();
  ASSERT_EQ(main.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(main.Create("/d/f"), Errno::kOk);
  absl::Mutex mu;
  std::vector<SessionRef> current;
  const auto open_session = [this] {
    SessionOptions options;
    options.credentials = std::make_shared<const Credentials>(0, 0);
    return *sessions().Open(std::move(options));
  };
  for (size_t i = 0; i < kSessions; ++i) current.push_back(open_session());
  std::atomic<uint64_t> closed{0};
  {
    Load load(0.5);
    for (int t = 0; t < 3; ++t) {
      load.Add([&](Random& random) {
        SessionRef session;
        {
          absl::MutexLock lock(&mu);
          session = current[random() % kSessions];
        }
        const Process p(executor(), session);
        // Its session may end at any point: handles are EBADF then, and new
        // ones are refused. Nothing else may go wrong.
        const auto ended = [](Errno error) {
          return error == Errno::kEBADF || error == Errno::kESTALE;
        };
        const Result<Handle> dir = p.Open("/d", kORdOnly | kODirectory);
        if (!dir.has_value()) {
          EXPECT_TRUE(ended(dir.error())) << ErrnoName(dir.error());
          return;
        }
        const Errno stat = Process::ErrorOf(p.StatHandle(*dir));
        EXPECT_TRUE(stat == Errno::kOk || ended(stat)) << ErrnoName(stat);
        const Errno open = p.TryOpen("f", kORdWr, 0, *dir);
        EXPECT_TRUE(open == Errno::kOk || ended(open)) << ErrnoName(open);
        const Errno list = Process::ErrorOf(p.ListHandle(*dir));
        EXPECT_TRUE(list == Errno::kOk || ended(list)) << ErrnoName(list);
        const Errno create = p.TryOpen("new" + std::to_string(random() % 4),
                                       kOCreat | kORdWr, 0644, *dir);
        EXPECT_TRUE(create == Errno::kOk || ended(create)) << ErrnoName(create);
        p.Unlink("/d/new" + std::to_string(random() % 4));
        if (random() % 2 == 0) {
          const Errno close = p.Close(*dir);
          EXPECT_TRUE(close == Errno::kOk || ended(close)) << ErrnoName(close);
        }  // else its session's end closes it
      });
    }
    load.Add([&](Random& random) {
      SessionRef fresh = open_session();
      {
        absl::MutexLock lock(&mu);
        std::swap(current[random() % kSessions], fresh);
      }
      EXPECT_TRUE(sessions().Close(fresh->id(), nullptr));
      EXPECT_EQ(sessions().Find(fresh->id()), nullptr);
      ++closed;
      for (uint64_t i = random() % 5000; i > 0; --i) sync::SpinPause();
    });
    load.Wait();
    stress::Report(load);
  }
  for (const SessionRef& session : current)
    EXPECT_TRUE(sessions().Close(session->id(), nullptr));
  current.clear();
  EXPECT_GT(closed.load(), 0U);
  EXPECT_EQ(vfs().files.nr_files(), 0);
  EXPECT_EQ(sessions().size(), 1U);
}

// Retries of one request on many threads: it is done once, and all get its
// answer.
TEST_P(SessionStressTest, RetriesAtOnceAreOneRequest) {
  const Process p = Start();
  std::atomic<uint64_t> next{1};
  std::atomic<uint64_t> done{0};
  Load load(0.3);
  for (int t = 0; t < 3; ++t) {
    load.Add([&](Random& random) {
      // Ids close to each other, so that threads meet.
      const uint64_t id = next.load() + random() % 2;
      const std::string name = "/r" + std::to_string(id);
      MakeDirectoryOperation make;
      make.path = name;
      make.mode = 0755;
      make.request_id = id;
      const Result<Done> made = executor().Execute(p.caller(), make);
      // A second execution would be EEXIST. (It may be one where this thread
      // slept while about a thousand others came in.)
      if (next.load() < id + 500) {
        EXPECT_EQ(Process::ErrorOf(made), Errno::kOk) << name;
      }
      ++done;
      uint64_t expected = id;
      if (random() % 4 == 0) next.compare_exchange_strong(expected, id + 1);
    });
  }
  load.Wait();
  stress::Report(load);
  EXPECT_GE(done.load(), next.load() - 1);
}

INSTANTIATE_TEST_SUITE_P(Variants, SessionStressTest,
                         testing::Values(CoreVariant{true, false},
                                         CoreVariant{false, true}),
                         CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
