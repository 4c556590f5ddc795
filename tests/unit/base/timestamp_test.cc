// The packing of times: it keeps values, order and ends.

#include "server/base/timestamp.h"

#include <gtest/gtest.h>

#include <ctime>
#include <random>

namespace vfsd {
namespace {

constexpr int64_t kMin = Timestamp::kMinSeconds;
constexpr int64_t kMax = Timestamp::kMaxSeconds;

TEST(TimestampTest, KeepsSecondsAndNanoseconds) {
  for (const int64_t seconds : {kMin, kMin + 1, int64_t{-1}, int64_t{0},
                                int64_t{1}, int64_t{1'700'000'000}, kMax}) {
    for (const uint32_t nanoseconds : {0U, 1U, 999'999'999U}) {
      const Timestamp time(seconds, nanoseconds);
      EXPECT_EQ(time.seconds(), seconds);
      EXPECT_EQ(time.nanoseconds(), nanoseconds);
      EXPECT_EQ(Timestamp::FromPacked(time.packed()), time);
    }
  }
}

TEST(TimestampTest, TheEpochIsTheDefault) {
  EXPECT_EQ(Timestamp(), Timestamp(0, 0));
  EXPECT_EQ(Timestamp().packed(), 0U);
}

TEST(TimestampTest, ClampsToTheNearestEnd) {
  const Timestamp last(kMax, 999'999'999);
  const Timestamp first(kMin, 0);
  EXPECT_EQ(Timestamp(kMax + 1, 3), last);
  EXPECT_EQ(Timestamp(INT64_MAX, 0), last);
  EXPECT_EQ(Timestamp(kMin - 1, 999'999'999), first);
  EXPECT_EQ(Timestamp(INT64_MIN, 7), first);
}

TEST(TimestampTest, KeepsTheOrder) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  // Beyond the ends too: there it may become equal, but never turn round.
  std::uniform_int_distribution<int64_t> near(-3, 3);
  const int64_t anchors[] = {kMin, 0, kMax};
  for (int i = 0; i < 100'000; ++i) {
    const auto pick = [&] {
      return std::pair(anchors[random() % 3] + near(random),
                       static_cast<uint32_t>(random() % 1'000'000'000));
    };
    const auto a = pick();
    const auto b = pick();
    const Timestamp ta(a.first, a.second);
    const Timestamp tb(b.first, b.second);
    if (a < b) {
      ASSERT_LE(ta, tb) << a.first << "." << a.second << " against " << b.first
                        << "." << b.second;
    }
    const auto inside = [](int64_t s) { return s >= kMin && s <= kMax; };
    if (inside(a.first) && inside(b.first)) {
      ASSERT_EQ(ta <=> tb, a <=> b);
    }
  }
}

TEST(TimestampTest, NowIsTheCoarseClock) {
  const auto read = [] {
    timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return Timestamp(now.tv_sec, static_cast<uint32_t>(now.tv_nsec));
  };
  const Timestamp before = read();
  const Timestamp now = Timestamp::Now();
  const Timestamp after = read();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

}  // namespace
}  // namespace vfsd
