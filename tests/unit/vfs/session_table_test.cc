// The session table on a clock of the test's: leases, ends, limits.

#include "server/vfs/session_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT

class SessionTableTest : public CoreTest, public SessionObserver {
 protected:
  SessionTableTest() { Use({}); }

  void Use(SessionLimits limits) {
    table_ = std::make_unique<SessionTable>(vfs(), limits, [this] {
      if (when_asked_) when_asked_();
      return now_;
    });
    table_->SetObserver(this);
  }
  ~SessionTableTest() override { table_.reset(); }

  static SessionOptions Options(absl::Duration lease = absl::ZeroDuration()) {
    SessionOptions options;
    options.credentials = std::make_shared<const Credentials>(0, 0);
    options.lease = lease;
    return options;
  }

  void SessionOpened(const SessionRef& session) override {
    opened_.push_back(session->id());
    if (while_opening_) while_opening_(*session);
  }
  void SessionClosed(const Session& session) override {
    closed_.push_back(session.id());
  }

  // Far from the system's own.
  LeaseClock::time_point now_{std::chrono::seconds(1000)};
  std::function<void()> when_asked_;
  std::vector<uint64_t> opened_;
  std::function<void(const Session&)> while_opening_;
  std::vector<uint64_t> closed_;
  std::unique_ptr<SessionTable> table_;
};

// Else its end could be told before its beginning, and what the observer keeps
// of it would stay for ever.
TEST_F(SessionTableTest, NobodyFindsOrEndsASessionThatIsBeingOpened) {
  bool asked = false;
  while_opening_ = [&](const Session& session) {
    now_ += std::chrono::hours(48);
    EXPECT_EQ(table_->Find(session.id()), nullptr);
    EXPECT_FALSE(table_->Close(session.id(), nullptr));
    EXPECT_EQ(table_->Reap(), 0U);
    EXPECT_TRUE(table_->List().empty());
    EXPECT_EQ(table_->open_handles(), 0U);
    EXPECT_EQ(table_->size(), 1U);
    asked = true;
  };
  const uint64_t id = (*table_->Open(Options()))->id();
  EXPECT_TRUE(asked);
  EXPECT_TRUE(closed_.empty());
  EXPECT_EQ(table_->Reap(), 1U);
  EXPECT_EQ(closed_, std::vector{id});
}

// Making one may wait (for the namespace's root): other sessions' calls must
// not wait with it. The clock is asked while the session is made.
TEST_F(SessionTableTest, OtherSessionsAreFoundAndEndedWhileOneIsMade) {
  const uint64_t other = (*table_->Open(Options()))->id();
  bool asked = false;
  when_asked_ = [&] {
    // The calls below ask for the time, too.
    if (std::exchange(asked, true)) return;
    EXPECT_EQ(table_->size(), 2U);
    EXPECT_NE(table_->Find(other), nullptr);
    EXPECT_TRUE(table_->Close(other, nullptr));
  };
  const SessionRef made = *table_->Open(Options());
  EXPECT_TRUE(asked);
  EXPECT_EQ(table_->size(), 1U);
  EXPECT_EQ(table_->Find(made->id()), made);
}

TEST_F(SessionTableTest, ALeaseLastsFromTheLastCallOn) {
  const uint64_t id = (*table_->Open(Options(absl::Seconds(10))))->id();
  now_ += std::chrono::milliseconds(9999);
  EXPECT_NE(table_->Find(id), nullptr);  // renews
  now_ += std::chrono::milliseconds(9999);
  EXPECT_NE(table_->Find(id), nullptr);
  now_ += std::chrono::seconds(10);
  EXPECT_EQ(table_->Find(id), nullptr);
  // Gone for good, even if the clock were set back.
  EXPECT_EQ(table_->Reap(), 1U);
  now_ -= std::chrono::seconds(10);
  EXPECT_EQ(table_->Find(id), nullptr);
}

// The wall clock may be set while sessions live: nothing of a lease is on it.
TEST_F(SessionTableTest, LeasesRunOnASteadyClockAndOpeningTimesOnTheWallClock) {
  static_assert(LeaseClock::is_steady);
  const absl::Time before = absl::Now();
  const SessionRef session = *table_->Open(Options(absl::Seconds(10)));
  EXPECT_GE(session->opened(), before);
  EXPECT_LE(session->opened(), absl::Now());
  EXPECT_EQ(session->expiry(), now_ + std::chrono::seconds(10));
  now_ += std::chrono::seconds(3);
  EXPECT_NE(table_->Find(session->id()), nullptr);
  EXPECT_EQ(session->expiry(), now_ + std::chrono::seconds(10));
  EXPECT_LE(session->opened(), absl::Now());
}

TEST_F(SessionTableTest, ALapsedSessionIsGoneBeforeItIsReaped) {
  const uint64_t id = (*table_->Open(Options(absl::Seconds(5))))->id();
  now_ += std::chrono::seconds(5);
  EXPECT_EQ(table_->Find(id), nullptr);
  EXPECT_EQ(table_->size(), 1U);
  EXPECT_EQ(table_->Reap(), 1U);
  EXPECT_EQ(table_->size(), 0U);
  EXPECT_EQ(table_->expired_total(), 1U);
}

TEST_F(SessionTableTest, ReapTakesOnlyWhatHasLapsed) {
  const uint64_t brief = (*table_->Open(Options(absl::Seconds(5))))->id();
  const uint64_t lasting = (*table_->Open(Options(absl::Seconds(50))))->id();
  EXPECT_EQ(table_->Reap(), 0U);
  now_ += std::chrono::seconds(6);
  EXPECT_EQ(table_->Reap(), 1U);
  EXPECT_EQ(table_->Find(brief), nullptr);
  EXPECT_NE(table_->Find(lasting), nullptr);
  EXPECT_EQ(closed_, std::vector<uint64_t>{brief});
}

TEST_F(SessionTableTest, LeasesAreClampedToTheLimits) {
  Use({.default_lease = absl::Seconds(60),
       .min_lease = absl::Seconds(2),
       .max_lease = absl::Minutes(5)});
  const auto lease = [this](absl::Duration asked) {
    return (*table_->Open(Options(asked)))->lease();
  };
  EXPECT_EQ(lease(absl::ZeroDuration()), absl::Seconds(60));
  EXPECT_EQ(lease(absl::Milliseconds(1)), absl::Seconds(2));
  EXPECT_EQ(lease(absl::Seconds(-1)), absl::Seconds(2));
  EXPECT_EQ(lease(absl::Seconds(2)), absl::Seconds(2));
  EXPECT_EQ(lease(absl::Seconds(100)), absl::Seconds(100));
  EXPECT_EQ(lease(absl::Hours(1)), absl::Minutes(5));
  EXPECT_EQ(lease(absl::InfiniteDuration()), absl::Minutes(5));
}

TEST_F(SessionTableTest, AnUnknownIdIsNothing) {
  const uint64_t id = (*table_->Open(Options()))->id();
  for (const uint64_t unknown :
       {uint64_t{0}, uint64_t{1}, id + 1, ~uint64_t{0}, ~id}) {
    EXPECT_EQ(table_->Find(unknown), nullptr);
    EXPECT_FALSE(table_->Close(unknown, nullptr));
  }
  EXPECT_NE(table_->Find(id), nullptr);
}

TEST_F(SessionTableTest, ClosingClosesHandlesAndEndsRemovedFiles) {
  const int64_t inodes = live_objects::Count(ObjectKind::kRegularInode);
  uint64_t id;
  {
    const SessionRef session = *table_->Open(Options());
    id = session->id();
    const Process p(executor(), session);
    ASSERT_TRUE(p.Open("/f", kOCreat | kORdWr).has_value());
    ASSERT_TRUE(p.Open("/", kORdOnly).has_value());
    ASSERT_EQ(p.Unlink("/f"), Errno::kOk);
  }
  EXPECT_EQ(table_->open_handles(), 2U);
  uint32_t closed = 0;
  EXPECT_TRUE(table_->Close(id, &closed));
  EXPECT_EQ(closed, 2U);
  EXPECT_EQ(vfs().files.nr_files(), 0);
  sync::RcuBarrier();
  EXPECT_EQ(live_objects::Count(ObjectKind::kRegularInode), inodes);
  EXPECT_EQ(table_->Find(id), nullptr);
  EXPECT_FALSE(table_->Close(id, &closed));
  EXPECT_EQ(table_->expired_total(), 0U);
}

TEST_F(SessionTableTest, OpenHandlesAreCountedAcrossSessionsAndTheirEnds) {
  const Process a(executor(), *table_->Open(Options()));
  const Process b(executor(), *table_->Open(Options()));
  EXPECT_EQ(a.TryOpen("/missing", kORdOnly), Errno::kENOENT);
  EXPECT_EQ(table_->open_handles(), 0U);
  const Result<Handle> first = a.Open("/", kORdOnly);
  ASSERT_TRUE(first.has_value());
  ASSERT_TRUE(a.Open("/", kORdOnly).has_value());
  ASSERT_TRUE(b.Open("/", kORdOnly).has_value());
  EXPECT_EQ(table_->open_handles(), 3U);
  EXPECT_EQ(a.Close(*first), Errno::kOk);
  EXPECT_EQ(a.Close(*first), Errno::kEBADF);
  EXPECT_EQ(table_->open_handles(), 2U);
  EXPECT_TRUE(table_->Close(b.session().id(), nullptr));
  EXPECT_EQ(table_->open_handles(), 1U);
  // One that is opened after the end is born closed.
  EXPECT_EQ(b.TryOpen("/", kORdOnly), Errno::kESTALE);
  EXPECT_TRUE(table_->Close(a.session().id(), nullptr));
  EXPECT_EQ(table_->open_handles(), 0U);
}

TEST_F(SessionTableTest, ACallUnderWayOutlivesItsSession) {
  const SessionRef session = *table_->Open(Options());
  const Process p(executor(), session);
  const Result<Handle> handle = p.Open("/", kORdOnly);
  ASSERT_TRUE(handle.has_value());
  EXPECT_TRUE(table_->Close(session->id(), nullptr));
  EXPECT_EQ(Process::ErrorOf(p.StatHandle(*handle)), Errno::kEBADF);
  EXPECT_EQ(p.TryOpen("/", kORdOnly), Errno::kESTALE);
  EXPECT_TRUE(p.Stat("/").has_value());
}

TEST_F(SessionTableTest, EnfileWhenThereAreTooMany) {
  Use({.max_sessions = 3});
  std::vector<uint64_t> ids;
  for (int i = 0; i < 3; ++i) ids.push_back((*table_->Open(Options()))->id());
  EXPECT_EQ(table_->Open(Options()).error(), Errno::kENFILE);
  EXPECT_TRUE(table_->Close(ids[1], nullptr));
  EXPECT_TRUE(table_->Open(Options()).has_value());
}

TEST_F(SessionTableTest, RefusesBadNamesAndTooManyGroups) {
  for (const std::string& name :
       {std::string(65, 'x'), std::string("a\nb"), std::string("a\0b", 3),
        std::string("\x7f"), std::string("caf\xc3\xa9")}) {
    SessionOptions options = Options();
    options.client_name = name;
    EXPECT_EQ(table_->Open(std::move(options)).error(), Errno::kEINVAL) << name;
  }
  SessionOptions named = Options();
  named.client_name = std::string(64, '~');
  EXPECT_TRUE(table_->Open(std::move(named)).has_value());
  SessionOptions grouped = Options();
  grouped.credentials = std::make_shared<const Credentials>(
      1, 1, std::vector<uint32_t>(kNgroupsMax + 1));
  EXPECT_EQ(table_->Open(std::move(grouped)).error(), Errno::kEINVAL);
}

TEST_F(SessionTableTest, IdsAndNumbersAreEachTheirOwn) {
  std::set<uint64_t> ids;
  std::set<uint32_t> numbers;
  for (int i = 0; i < 100; ++i) {
    const SessionRef session = *table_->Open(Options());
    EXPECT_NE(session->id(), 0U);
    EXPECT_TRUE(ids.insert(session->id()).second);
    EXPECT_TRUE(numbers.insert(session->number()).second);
    EXPECT_TRUE(table_->Close(session->id(), nullptr));
  }
}

TEST_F(SessionTableTest, TheObserverHearsOfEveryBeginningAndEnd) {
  const uint64_t a = (*table_->Open(Options(absl::Seconds(5))))->id();
  const uint64_t b = (*table_->Open(Options()))->id();
  const uint64_t c = (*table_->Open(Options()))->id();
  now_ += std::chrono::seconds(5);
  table_->Reap();
  table_->Close(b, nullptr);
  table_.reset();
  EXPECT_EQ(opened_, (std::vector<uint64_t>{a, b, c}));
  EXPECT_EQ(closed_, (std::vector<uint64_t>{a, b, c}));
}

TEST_F(SessionTableTest, TheUmaskKeepsOnlyPermissionBits) {
  SessionOptions options = Options();
  options.umask = 07777;
  EXPECT_EQ((*table_->Open(std::move(options)))->umask(), 0777U);
}

}  // namespace
}  // namespace vfsd::vfs
