#include "client/load/recorder.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "client/load/run_status.h"

namespace vfsload {
namespace {

using std::chrono::microseconds;

TEST(Recorder, CountsByOperationAndResult) {
  Recorder recorder;
  recorder.CountOperations(Operation::kOpen, 0, 10);
  recorder.CountOperations(Operation::kOpen, 2);
  recorder.CountOperations(Operation::kStat, 0, 5);
  recorder.CountOperations(Operation::kStat, 4095);
  recorder.CountOperations(Operation::kStat, -3);
  recorder.CountWrong(2);
  Totals totals;
  recorder.AddTo(&totals);
  EXPECT_EQ(totals.Operations(), 18u);
  EXPECT_EQ(totals.Operations(Operation::kOpen), 11u);
  EXPECT_EQ(totals.results[Index(Operation::kOpen)][2], 1u);
  // Numbers that Linux does not have share the last place.
  EXPECT_EQ(totals.results[Index(Operation::kStat)][kResults - 1], 2u);
  EXPECT_EQ(totals.wrong, 2u);
}

TEST(Recorder, InFlight) {
  Recorder recorder;
  for (int i = 0; i < 3; ++i) {
    recorder.CountStarted(UnaryMethod(Operation::kOpen));
  }
  recorder.CountHandled(UnaryMethod(Operation::kOpen), 0);
  recorder.CountHandled(UnaryMethod(Operation::kOpen), 14);
  recorder.CountStarted(kBatchMethod);
  for (int i = 0; i < 4; ++i) recorder.CountSent();
  recorder.CountReceived();
  Totals totals;
  recorder.AddTo(&totals);
  // One call and three messages; the stream itself is none.
  EXPECT_EQ(totals.InFlight(), 4u);
}

TEST(Totals, APhaseIsADifference) {
  Recorder recorder;
  recorder.CountOperations(Operation::kRead, 0, 100);
  recorder.RecordLatency(UnaryMethod(Operation::kRead), microseconds(900));
  Totals before;
  recorder.AddTo(&before);
  recorder.CountOperations(Operation::kRead, 0, 7);
  recorder.RecordLatency(UnaryMethod(Operation::kRead), microseconds(20));
  Totals after;
  recorder.AddTo(&after);
  after.Subtract(before);
  EXPECT_EQ(after.Operations(), 7u);
  EXPECT_EQ(after.Latency().Count(), 1u);
  EXPECT_NEAR(static_cast<double>(after.Latency().Max().count()), 20e3, 200);
}

TEST(RunStatus, SumsWhatManyThreadsCount) {
  constexpr size_t kThreads = 4;
  constexpr int kEach = 20000;
  RunStatus status("run", kThreads);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&status, i] {
      for (int k = 0; k < kEach; ++k) {
        status.recorder(i).CountOperations(Operation::kOpen, k % 3);
        status.recorder(i).RecordLatency(0, microseconds(k));
      }
    });
  }
  uint64_t last = 0;
  for (int k = 0; k < 50; ++k) {
    const uint64_t now = status.Read().Operations();
    EXPECT_GE(now, last);
    last = now;
  }
  threads.clear();
  EXPECT_EQ(status.Read().Operations(), kThreads * kEach);
  EXPECT_EQ(status.Read().Latency().Count(), kThreads * kEach);
}

}  // namespace
}  // namespace vfsload
