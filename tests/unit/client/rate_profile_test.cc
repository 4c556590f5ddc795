#include "client/load/rate_profile.h"

#include <gtest/gtest.h>

#include <vector>

#include "client/load/arrival_plan.h"

namespace vfsload {
namespace {

RateProfile Profile(std::string_view text, double seconds) {
  auto profile = RateProfile::Parse(text, seconds);
  EXPECT_TRUE(profile) << profile.error();
  return *profile;
}

TEST(RateProfile, CountsOfConstantStepsAndRamps) {
  EXPECT_DOUBLE_EQ(Profile("1000", 10).CountAt(4), 4000);
  EXPECT_DOUBLE_EQ(Profile("1000", 10).CountAt(-2), -2000);
  EXPECT_DOUBLE_EQ(Profile("1000", 10).CountAt(20), 20000);
  const RateProfile steps = Profile("100,200,400", 30);
  EXPECT_DOUBLE_EQ(steps.CountAt(10), 1000);
  EXPECT_DOUBLE_EQ(steps.CountAt(15), 2000);
  EXPECT_DOUBLE_EQ(steps.CountAt(30), 7000);
  const RateProfile ramp = Profile("0.5:1000.5", 10);
  EXPECT_DOUBLE_EQ(ramp.CountAt(10), 5005);
  EXPECT_DOUBLE_EQ(ramp.CountAt(5), 1252.5);
}

TEST(RateProfile, TimeOfIsTheInverse) {
  for (const char* text :
       {"7", "100,200,400", "10:5000", "5000:10", "3:9,20"}) {
    const RateProfile profile = Profile(text, 12);
    for (double seconds = -3; seconds < 15; seconds += 0.37) {
      EXPECT_NEAR(profile.TimeOf(profile.CountAt(seconds)), seconds, 1e-9)
          << text;
    }
  }
}

TEST(RateProfile, BadOnesAreRefused) {
  for (const char* text : {"", "0", "-1", "x", "1,", "1:", ":1", "1:2:3", "nan",
                           "inf", "1e10", "1 "}) {
    EXPECT_FALSE(RateProfile::Parse(text, 1)) << text;
  }
}

// All intended starts of a plan before `seconds`, over its shares.
size_t CountBefore(const char* rate, Arrivals arrivals, size_t shares,
                   double seconds, uint64_t operations) {
  size_t count = 0;
  for (size_t i = 0; i < shares; ++i) {
    ArrivalPlan plan(Profile(rate, seconds), arrivals, i, shares, 1, 0);
    std::chrono::nanoseconds last{0};
    while (plan.Next() < std::chrono::duration<double>(seconds)) {
      EXPECT_GE(plan.Next(), last);
      last = plan.Next();
      count += operations;
      plan.Advance(operations);
    }
  }
  return count;
}

TEST(ArrivalPlan, SharesTogetherMakeTheRate) {
  for (const size_t shares : {1u, 3u}) {
    for (const uint64_t operations : {1u, 3u}) {
      EXPECT_NEAR(
          CountBefore("1000", Arrivals::kConstant, shares, 10, operations),
          10000, 12);
      EXPECT_NEAR(
          CountBefore("100:1900", Arrivals::kConstant, shares, 10, operations),
          10000, 12);
      // Five standard deviations of a Poisson count.
      EXPECT_NEAR(
          CountBefore("1000", Arrivals::kPoisson, shares, 10, operations),
          10000, 5 * 100 * static_cast<double>(operations));
    }
  }
}

TEST(ArrivalPlan, SharesTakeTurns) {
  ArrivalPlan first(Profile("1000", 1), Arrivals::kConstant, 0, 2, 1, 0);
  ArrivalPlan second(Profile("1000", 1), Arrivals::kConstant, 1, 2, 1, 0);
  EXPECT_EQ(first.Next().count(), 0);
  EXPECT_EQ(second.Next().count(), 1'000'000);
  first.Advance(1);
  EXPECT_EQ(first.Next().count(), 2'000'000);
}

TEST(ArrivalPlan, AWarmUpGoesBeforeTheProfile) {
  ArrivalPlan plan(Profile("10,1000", 2), Arrivals::kConstant, 0, 1, 1, -1);
  EXPECT_EQ(plan.Next(), std::chrono::seconds(-1));
  for (int i = 0; i < 10; ++i) plan.Advance(1);
  EXPECT_EQ(plan.Next().count(), 0);
}

}  // namespace
}  // namespace vfsload
