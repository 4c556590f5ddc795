// Small concurrent histories on four names: some order of the operations, one
// after the other, must explain every answer.

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/stress/history.h"
#include "tests/stress/load.h"
#include "tests/stress/namespace_model.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT
using stress::Action;
using stress::Event;
using stress::History;
using stress::kNames;
using stress::NamespaceModel;
using stress::Random;
using stress::Step;

// The checker itself.

Event At(uint64_t begin, uint64_t end, Step step) { return {step, begin, end}; }
const NamespaceModel kEmpty({0, 0, 0, 0});
const NamespaceModel kOneFile({7, 0, 0, 0});

TEST(LinearizabilityCheckerTest, AcceptsWhatOneThreadDid) {
  EXPECT_TRUE(stress::IsLinearizable(
      {{At(1, 2, {Action::kStat, 0, 0, Errno::kENOENT, 0}),
        At(3, 4, {Action::kCreateExclusive, 0, 0, Errno::kOk, 7}),
        At(5, 6, {Action::kRename, 0, 2, Errno::kOk, 0}),
        At(7, 8, {Action::kStat, 2, 0, Errno::kOk, 7}),
        At(9, 10, {Action::kUnlink, 2, 0, Errno::kOk, 0}),
        At(11, 12, {Action::kOpen, 2, 0, Errno::kENOENT, 0})}},
      kEmpty));
}

TEST(LinearizabilityCheckerTest, AcceptsEitherAnswerWhileAChangeIsUnderWay) {
  for (const Errno seen : {Errno::kOk, Errno::kENOENT}) {
    EXPECT_TRUE(stress::IsLinearizable(
        {{At(1, 10, {Action::kRename, 0, 1, Errno::kOk, 0})},
         {At(2, 3, {Action::kStat, 0, 0, seen, seen == Errno::kOk ? 7U : 0U})}},
        kOneFile));
  }
}

TEST(LinearizabilityCheckerTest, RejectsALostUpdate) {
  EXPECT_FALSE(stress::IsLinearizable(
      {{At(1, 2, {Action::kCreateExclusive, 0, 0, Errno::kOk, 7})},
       {At(3, 4, {Action::kStat, 0, 0, Errno::kENOENT, 0})}},
      kEmpty));
}

TEST(LinearizabilityCheckerTest, RejectsAFileMissingUnderBothNames) {
  // While it is renamed from the first name to the second, and asked for in
  // that order.
  EXPECT_FALSE(stress::IsLinearizable(
      {{At(1, 10, {Action::kRename, 0, 1, Errno::kOk, 0})},
       {At(2, 3, {Action::kStat, 0, 0, Errno::kENOENT, 0}),
        At(4, 5, {Action::kStat, 1, 0, Errno::kENOENT, 0})}},
      kOneFile));
}

TEST(LinearizabilityCheckerTest, RejectsTwoExclusiveCreations) {
  EXPECT_FALSE(stress::IsLinearizable(
      {{At(1, 10, {Action::kCreateExclusive, 0, 0, Errno::kOk, 7})},
       {At(2, 9, {Action::kCreateExclusive, 0, 0, Errno::kOk, 8})}},
      kEmpty));
}

TEST(LinearizabilityCheckerTest, RejectsGoingBackInTime) {
  // The new state was seen, and then the old one.
  EXPECT_FALSE(stress::IsLinearizable(
      {{At(1, 10, {Action::kUnlink, 0, 0, Errno::kOk, 0})},
       {At(2, 3, {Action::kStat, 0, 0, Errno::kENOENT, 0})},
       {At(4, 5, {Action::kStat, 0, 0, Errno::kOk, 7})}},
      kOneFile));
}

// The core.

class LinearizabilityTest : public VariantTest {
 protected:
  static constexpr size_t kThreads = 3;
  static constexpr size_t kOperations = 4;

  // What one thread is to do in one history.
  struct Plan {
    Action action;
    uint8_t name;
    uint8_t other;
  };
  using Plans = std::array<std::array<Plan, kOperations>, kThreads>;

  static Plans Choose(Random& random) {
    static constexpr Action kActions[] = {Action::kStat,
                                          Action::kStat,
                                          Action::kOpen,
                                          Action::kOpen,
                                          Action::kCreateExclusive,
                                          Action::kOpenOrCreate,
                                          Action::kUnlink,
                                          Action::kRename,
                                          Action::kRename,
                                          Action::kExchange,
                                          Action::kRenameNoreplace,
                                          Action::kLinkLookup};
    Plans plans;
    // Few names make for many meetings.
    const uint64_t names = 2 + random() % 3;
    for (auto& plan : plans) {
      for (Plan& operation : plan) {
        operation.action = kActions[random() % std::size(kActions)];
        operation.name = static_cast<uint8_t>(random() % names);
        operation.other = static_cast<uint8_t>(random() % names);
      }
    }
    return plans;
  }

  // The file behind a new handle, which is closed.
  static void Look(const Process& p, const Result<Handle>& handle, Step& step) {
    step.error = Process::ErrorOf(handle);
    if (!handle.has_value()) return;
    const Result<Statx> stat = p.StatHandle(*handle);
    EXPECT_TRUE(stat.has_value());
    step.ino = stat.has_value() ? stat->ino : 0;
    EXPECT_EQ(p.Close(*handle), Errno::kOk);
  }

  static uint64_t Tick(std::atomic<uint64_t>& clock) { return ++clock; }

  // Runs one operation and writes what it was into `events`.
  static void Run(const Process& p, const Plan& plan,
                  std::atomic<uint64_t>& clock, std::vector<Event>& events) {
    Event event;
    event.step = {plan.action, plan.name, plan.other, Errno::kOk, 0};
    const char* const name = kNames[plan.name];
    const char* const other = kNames[plan.other];
    Step& step = event.step;
    event.begin = Tick(clock);
    switch (plan.action) {
      case Action::kStat: {
        const Result<Statx> stat = p.Stat(name);
        step.error = Process::ErrorOf(stat);
        step.ino = stat.has_value() ? stat->ino : 0;
        break;
      }
      case Action::kOpen:
        Look(p, p.Open(name, kORdOnly), step);
        break;
      case Action::kCreateExclusive:
        Look(p, p.Open(name, kOCreat | kOExcl | kORdWr), step);
        break;
      case Action::kOpenOrCreate:
        Look(p, p.Open(name, kOCreat | kORdWr), step);
        break;
      case Action::kUnlink:
        step.error = p.Unlink(name);
        break;
      case Action::kRename:
        step.error = p.Rename(name, other);
        break;
      case Action::kRenameNoreplace:
        step.error = p.Rename(name, other, kRenameNoreplace);
        break;
      case Action::kExchange:
        step.error = p.Rename(name, other, kRenameExchange);
        break;
      case Action::kLinkLookup:
      case Action::kLinkAdd:
        step.error = p.MakeLink(name, other);
        break;
    }
    event.end = Tick(clock);
    events.push_back(event);
    if (plan.action == Action::kLinkLookup) {
      event.step.action = Action::kLinkAdd;
      events.push_back(event);
    }
  }

  static std::array<uint64_t, kNames.size()> ReadNames(const Process& p) {
    std::array<uint64_t, kNames.size()> inos{};
    for (size_t i = 0; i < kNames.size(); ++i) {
      const Result<Statx> stat = p.Stat(kNames[i]);
      if (stat.has_value()) inos[i] = stat->ino;
    }
    return inos;
  }
};

TEST_P(LinearizabilityTest, SmallHistories) {
  const Process main = Start();
  ASSERT_EQ(main.MakeDirectory("/l"), Errno::kOk);
  ASSERT_EQ(main.MakeDirectory("/m"), Errno::kOk);
  std::vector<Process> processes;
  for (size_t t = 0; t < kThreads; ++t) processes.push_back(Start());
  std::atomic<uint64_t> clock{0};
  Plans plans;
  History history(kThreads + 1);
  bool stop = false;
  std::barrier barrier(kThreads + 1);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (;;) {
        barrier.arrive_and_wait();
        if (stop) return;
        for (const Plan& plan : plans[t])
          Run(processes[t], plan, clock, history[t]);
        barrier.arrive_and_wait();
      }
    });
  }
  Random random(stress::Seed());
  const auto deadline = std::chrono::steady_clock::now() + stress::LoadTime();
  uint64_t histories = 0;
  uint64_t overlapping = 0;
  while (std::chrono::steady_clock::now() < deadline && !HasFailure()) {
    // Some names exist, sometimes two of one file.
    for (const char* const name : kNames) {
      if (random() % 3 == 0) main.Unlink(name);
      if (random() % 2 == 0) main.TryOpen(name, kOCreat | kORdWr);
    }
    if (random() % 4 == 0) main.MakeLink(kNames[0], kNames[random() % 4]);
    const NamespaceModel initial(ReadNames(main));
    for (std::vector<Event>& events : history) events.clear();
    plans = Choose(random);
    barrier.arrive_and_wait();
    barrier.arrive_and_wait();
    // What is there in the end belongs to it.
    for (size_t i = 0; i < kNames.size(); ++i) {
      Run(main, {Action::kStat, static_cast<uint8_t>(i), 0}, clock,
          history[kThreads]);
    }
    ++histories;
    const bool overlaps = history[0].front().begin < history[1].back().end &&
                          history[1].front().begin < history[0].back().end;
    overlapping += overlaps ? 1 : 0;
    EXPECT_TRUE(stress::IsLinearizable(history, initial))
        << "VFSD_STRESS_SEED=" << stress::Seed() << ", history " << histories
        << ":\n"
        << stress::Describe(history);
  }
  stop = true;
  barrier.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  std::cout << histories << " histories, " << overlapping
            << " with overlapping threads" << std::endl;
  EXPECT_GT(histories, 0U);
}

INSTANTIATE_TEST_SUITE_P(Variants, LinearizabilityTest,
                         testing::Values(CoreVariant{true, false},
                                         CoreVariant{false, true}),
                         CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
