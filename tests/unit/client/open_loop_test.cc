// Response and service times against a server whose stalls are known, in
// simulated time. The truth is computed apart: a line of calls, one after the
// other, from their planned starts.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <vector>

#include "tests/unit/client/simulated_load.h"

namespace vfsload {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr Method kMethod = UnaryMethod(Operation::kStat);
constexpr double kRate = 1000;
constexpr nanoseconds kService = microseconds(100);
constexpr nanoseconds kPeriod = seconds(1);
constexpr nanoseconds kStall = milliseconds(150);
constexpr nanoseconds kLength = seconds(20);

SimulatedServer StallingServer() { return {kService, kPeriod, kStall}; }

// The answer of every call whose planned start is given, when nothing limits
// how many are under way.
std::vector<nanoseconds> TrueResponses(
    const std::vector<nanoseconds>& planned) {
  SimulatedServer server = StallingServer();
  std::vector<nanoseconds> responses;
  for (const nanoseconds start : planned) {
    responses.push_back(server.Answer(start) - start);
  }
  std::ranges::sort(responses);
  return responses;
}

nanoseconds TrueQuantile(const std::vector<nanoseconds>& sorted,
                         double quantile) {
  const double rank = std::ceil(quantile * static_cast<double>(sorted.size()));
  return sorted[static_cast<size_t>(std::max(rank, 1.0)) - 1];
}

void ExpectWithinOnePercent(const LatencyHistogram& histogram,
                            const std::vector<nanoseconds>& truth) {
  EXPECT_EQ(histogram.Count(), truth.size());
  for (const double quantile : {0.01, 0.5, 0.8, 0.9, 0.99, 0.999, 1.0}) {
    const auto exact =
        static_cast<double>(TrueQuantile(truth, quantile).count());
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(quantile).count()),
                exact, exact * 0.01)
        << quantile;
  }
}

std::unique_ptr<OpenLoopPacer> Open(const std::atomic<bool>& stop,
                                    Recorder& recorder, Arrivals arrivals,
                                    std::optional<nanoseconds> max_late = {}) {
  return std::make_unique<OpenLoopPacer>(
      stop,
      ArrivalPlan(RateProfile("1000", {{20, kRate, kRate}}), arrivals, 0, 1, 7,
                  0),
      recorder, nanoseconds(0), max_late);
}

std::vector<nanoseconds> Planned(Arrivals arrivals) {
  ArrivalPlan plan(RateProfile("1000", {{20, kRate, kRate}}), arrivals, 0, 1, 7,
                   0);
  std::vector<nanoseconds> planned;
  for (; plan.Next() < kLength; plan.Advance(1)) planned.push_back(plan.Next());
  return planned;
}

struct Outcome {
  Totals totals;
};

Outcome RunSimulated(std::unique_ptr<Pacer> (*make)(const std::atomic<bool>&,
                                                    Recorder&),
                     size_t slots) {
  std::atomic<bool> stop = false;
  Recorder recorder;
  const std::unique_ptr<Pacer> pacer = make(stop, recorder);
  SimulatedLoad load(*pacer, recorder, StallingServer(), slots, 1);
  load.Run(kLength, stop);
  Outcome outcome;
  recorder.AddTo(&outcome.totals);
  return outcome;
}

template <Arrivals kArrivals>
std::unique_ptr<Pacer> MakeOpen(const std::atomic<bool>& stop,
                                Recorder& recorder) {
  return Open(stop, recorder, kArrivals);
}

std::unique_ptr<Pacer> MakeClosed(const std::atomic<bool>& stop, Recorder&) {
  return std::make_unique<ClosedLoopPacer>(stop, std::nullopt);
}

TEST(OpenLoop, ResponseTimesAreTheTruthWithPlacesEnough) {
  const Outcome constant = RunSimulated(MakeOpen<Arrivals::kConstant>, 1000);
  ExpectWithinOnePercent(constant.totals.response[kMethod],
                         TrueResponses(Planned(Arrivals::kConstant)));
  const Outcome poisson = RunSimulated(MakeOpen<Arrivals::kPoisson>, 1000);
  ExpectWithinOnePercent(poisson.totals.response[kMethod],
                         TrueResponses(Planned(Arrivals::kPoisson)));
  // Nothing waited for a place: what was sent was sent on time.
  EXPECT_EQ(constant.totals.late, 0u);
  EXPECT_EQ(constant.totals.lag.Max().count(), 0);
  EXPECT_EQ(constant.totals.latency[kMethod],
            constant.totals.response[kMethod]);
}

TEST(OpenLoop, ResponseTimesAreTheTruthWithOnePlaceToo) {
  // One call under way at a time: the line stands in the client instead of the
  // server, and the responses must not differ for that.
  const Outcome one = RunSimulated(MakeOpen<Arrivals::kConstant>, 1);
  const std::vector<nanoseconds> planned = Planned(Arrivals::kConstant);
  ExpectWithinOnePercent(one.totals.response[kMethod], TrueResponses(planned));

  // Service times: of the send, which is when the one before is answered.
  SimulatedServer server = StallingServer();
  std::vector<nanoseconds> service;
  nanoseconds free{0};
  uint64_t late = 0;
  for (const nanoseconds start : planned) {
    const nanoseconds sent = std::max(start, free);
    free = server.Answer(sent);
    service.push_back(free - sent);
    if (sent - start > kLateFrom) ++late;
  }
  std::ranges::sort(service);
  ExpectWithinOnePercent(one.totals.latency[kMethod], service);
  EXPECT_EQ(one.totals.late, late);
  // The difference is the point: one call in a thousand saw a stall, and yet
  // every seventh answer was late by it.
  EXPECT_LT(one.totals.latency[kMethod].Quantile(0.99), microseconds(110));
  EXPECT_GT(one.totals.response[kMethod].Quantile(0.99), milliseconds(130));
  EXPECT_GT(one.totals.response[kMethod].Quantile(0.9), milliseconds(50));
}

TEST(OpenLoop, AClosedLoopHidesTheStalls) {
  const Outcome closed = RunSimulated(MakeClosed, 1);
  // It just asks less while the server stalls: of some 8,500 calls a second one
  // is slow, so not even the 99.9th percentile shows 15 % of lost time.
  EXPECT_LT(closed.totals.latency[kMethod].Quantile(0.999), microseconds(110));
  EXPECT_GT(closed.totals.latency[kMethod].Max(), milliseconds(140));
  EXPECT_EQ(closed.totals.response[kMethod].Count(), 0u);
  EXPECT_EQ(closed.totals.scheduled, 0u);
}

TEST(OpenLoop, WhatIsDueIsSentOrCounted) {
  std::atomic<bool> stop = false;
  Recorder recorder;
  const auto pacer =
      Open(stop, recorder, Arrivals::kConstant, milliseconds(10));
  SimulatedLoad load(*pacer, recorder, StallingServer(), 1, 1);
  load.Run(kLength, stop);
  Totals totals;
  recorder.AddTo(&totals);
  EXPECT_EQ(totals.latency[kMethod].Count() + totals.Dropped(),
            totals.scheduled);
  // Of each stall what came in its first 140 ms is dropped.
  EXPECT_NEAR(static_cast<double>(totals.dropped[0]), 19 * 140, 19 * 2);
  EXPECT_LE(totals.lag.Max(), nanoseconds(10'100'000));
  EXPECT_NEAR(static_cast<double>(totals.scheduled), 20'000, 1);
}

TEST(OpenLoop, WhatIsNotSentAtTheEndIsCounted) {
  std::atomic<bool> stop = false;
  Recorder recorder;
  const auto pacer = Open(stop, recorder, Arrivals::kConstant);
  // 2 ms a call, 1,000 calls a second: half of them never get their turn.
  SimulatedLoad load(*pacer, recorder,
                     {milliseconds(2), std::chrono::hours(1), nanoseconds(0)},
                     1, 1);
  load.Run(kLength, stop);
  Totals totals;
  recorder.AddTo(&totals);
  EXPECT_NEAR(static_cast<double>(totals.dropped[1]), 10'000, 2);
  EXPECT_EQ(totals.latency[kMethod].Count() + totals.Dropped(),
            totals.scheduled);
}

TEST(OpenLoop, DependentStepsHaveStartsFromThePlan) {
  std::atomic<bool> stop = false;
  Recorder recorder;
  const auto pacer = Open(stop, recorder, Arrivals::kConstant);
  SimulatedLoad load(*pacer, recorder, StallingServer(), 1000, 3);
  load.expected.Set(kMethod, kService);
  load.Run(kPeriod + milliseconds(500), stop);
  Totals totals;
  recorder.AddTo(&totals);
  // Before the stall a step is answered when it should be: its response is its
  // own time, not that of the steps before it.
  EXPECT_NEAR(
      static_cast<double>(totals.response[kMethod].Quantile(0.5).count()),
      static_cast<double>(kService.count()),
      0.01 * static_cast<double>(kService.count()));
  // The unit that the stall delayed delays its later steps: their plan stands.
  EXPECT_GT(totals.response[kMethod].Max(), milliseconds(145));
  EXPECT_GT(totals.response[kMethod].Count(),
            totals.latency[kMethod].Count() - 1);
}

}  // namespace
}  // namespace vfsload
