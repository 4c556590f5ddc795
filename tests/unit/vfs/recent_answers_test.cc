// Recent answers: a retry gets the first answer, whenever it comes.

#include "server/vfs/recent_answers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using Answer = RecentAnswers::Answer;

TEST(RecentAnswersTest, TheFirstRunsAndRetriesGetItsAnswer) {
  RecentAnswers answers;
  EXPECT_FALSE(answers.Begin(7).has_value());
  answers.Remember(7, {OperationKind::kOpen, Errno::kOk, 99});
  for (int i = 0; i < 3; ++i) {
    const std::optional<Answer> again = answers.Begin(7);
    ASSERT_TRUE(again.has_value());
    EXPECT_EQ(again->kind, OperationKind::kOpen);
    EXPECT_EQ(again->error, Errno::kOk);
    EXPECT_EQ(again->handle, 99U);
  }
}

TEST(RecentAnswersTest, ErrorsAreAnswersToo) {
  RecentAnswers answers;
  EXPECT_FALSE(answers.Begin(1).has_value());
  answers.Remember(1, {OperationKind::kUnlink, Errno::kENOENT, 0});
  EXPECT_EQ(answers.Begin(1)->error, Errno::kENOENT);
}

TEST(RecentAnswersTest, RemembersTheLast1024) {
  static_assert(RecentAnswers::kCapacity == 1024);  // OpenSession announces it
  RecentAnswers answers;
  for (uint64_t id = 1; id <= 1024; ++id) {
    ASSERT_FALSE(answers.Begin(id).has_value());
    answers.Remember(id, {OperationKind::kUnlink, Errno::kOk, id});
  }
  for (uint64_t id = 1; id <= 1024; ++id)
    ASSERT_EQ(answers.Begin(id)->handle, id);
  ASSERT_FALSE(answers.Begin(1025).has_value());
  answers.Remember(1025, {OperationKind::kUnlink, Errno::kOk, 1025});
  EXPECT_TRUE(answers.Begin(2).has_value());
  // The oldest is forgotten, and is a first try again.
  EXPECT_FALSE(answers.Begin(1).has_value());
  answers.Remember(1, {OperationKind::kUnlink, Errno::kEIO, 0});
  EXPECT_EQ(answers.Begin(1)->error, Errno::kEIO);
  EXPECT_EQ(answers.Begin(1025)->handle, 1025U);
}

TEST(RecentAnswersTest, AConcurrentRetryWaitsForTheFirst) {
  RecentAnswers answers;
  ASSERT_FALSE(answers.Begin(5).has_value());
  std::atomic<bool> answered{false};
  std::vector<std::thread> retries;
  for (int t = 0; t < 3; ++t) {
    retries.emplace_back([&] {
      const std::optional<Answer> answer = answers.Begin(5);
      EXPECT_TRUE(answered.load());
      ASSERT_TRUE(answer.has_value());
      EXPECT_EQ(answer->handle, 55U);
    });
  }
  // Others are not held up meanwhile.
  EXPECT_FALSE(answers.Begin(6).has_value());
  answers.Remember(6, {OperationKind::kOpen, Errno::kOk, 66});
  answered.store(true);
  answers.Remember(5, {OperationKind::kOpen, Errno::kOk, 55});
  for (std::thread& retry : retries) retry.join();
}

TEST(RecentAnswersTest, AWaitingRetryGetsAnAnswerThatIsForgottenAtOnce) {
  // The answer is pushed out by 1,024 others as soon as it is there: whoever
  // had begun to wait gets it all the same; whoever comes later is a first try.
  for (int round = 0; round < 50; ++round) {
    RecentAnswers answers;
    ASSERT_FALSE(answers.Begin(1).has_value());
    std::thread retry([&] {
      const std::optional<Answer> answer = answers.Begin(1);
      if (answer.has_value()) {
        EXPECT_EQ(answer->error, Errno::kEEXIST);
        EXPECT_EQ(answer->kind, OperationKind::kMakeDirectory);
      } else {
        answers.Remember(1, {OperationKind::kMakeDirectory, Errno::kEEXIST, 0});
      }
    });
    std::this_thread::yield();
    answers.Remember(1, {OperationKind::kMakeDirectory, Errno::kEEXIST, 0});
    for (uint64_t id = 2; id <= 1025; ++id) {
      ASSERT_FALSE(answers.Begin(id).has_value());
      answers.Remember(id, {OperationKind::kOpen, Errno::kOk, id});
    }
    retry.join();
  }
}

class RetryTest : public CoreTest {};

TEST_F(RetryTest, ARetriedMutationIsNotDoneTwice) {
  const Process p = Start();
  MakeDirectoryOperation make;
  make.path = "/d";
  make.mode = 0755;
  make.request_id = 1;
  EXPECT_TRUE(executor().Execute(p.caller(), make).has_value());
  EXPECT_TRUE(executor().Execute(p.caller(), make).has_value());
  make.request_id = 2;
  EXPECT_EQ(executor().Execute(p.caller(), make).error(), Errno::kEEXIST);

  UnlinkOperation remove;
  remove.path = "/d";
  remove.flags = linux_abi::kAtRemovedir;
  remove.request_id = 3;
  EXPECT_TRUE(executor().Execute(p.caller(), remove).has_value());
  EXPECT_TRUE(executor().Execute(p.caller(), remove).has_value());
  // The first answer also when the world has changed since.
  make.request_id = 1;
  EXPECT_TRUE(executor().Execute(p.caller(), make).has_value());
  EXPECT_FALSE(p.Stat("/d").has_value());
}

TEST_F(RetryTest, ARetriedOpenGetsTheSameHandle) {
  const Process p = Start();
  OpenOperation open;
  open.path = "/f";
  open.flags = linux_abi::kOCreat | linux_abi::kOExcl | linux_abi::kORdWr;
  open.mode = 0644;
  open.request_id = 9;
  const Result<Handle> first = executor().Execute(p.caller(), open);
  const Result<Handle> second = executor().Execute(p.caller(), open);
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(p.session().files().open_handles(), 1U);
  EXPECT_EQ(p.Close(*first), Errno::kOk);
}

TEST_F(RetryTest, AnIdOfAnotherKindOfRequestIsEinval) {
  const Process p = Start();
  MakeDirectoryOperation make;
  make.path = "/d";
  make.request_id = 1;
  EXPECT_TRUE(executor().Execute(p.caller(), make).has_value());
  UnlinkOperation remove;
  remove.path = "/d";
  remove.flags = linux_abi::kAtRemovedir;
  remove.request_id = 1;
  EXPECT_EQ(executor().Execute(p.caller(), remove).error(), Errno::kEINVAL);
  EXPECT_TRUE(p.Stat("/d").has_value());
}

TEST_F(RetryTest, IdsAreASessionsOwn) {
  const Process p = Start();
  const Process q = Start();
  MakeDirectoryOperation make;
  make.path = "/d";
  make.request_id = 1;
  EXPECT_TRUE(executor().Execute(p.caller(), make).has_value());
  EXPECT_EQ(executor().Execute(q.caller(), make).error(), Errno::kEEXIST);
}

}  // namespace
}  // namespace vfsd::vfs
