#include "client/load/latency_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

namespace vfsload {
namespace {

using std::chrono::nanoseconds;

TEST(LatencyLayout, BucketsCoverEveryValueOnce) {
  for (size_t i = 0; i < LatencyLayout::kBuckets; ++i) {
    EXPECT_EQ(LatencyLayout::Index(LatencyLayout::Lower(i)), i);
    if (i + 1 < LatencyLayout::kBuckets) {
      EXPECT_EQ(LatencyLayout::Index(LatencyLayout::Lower(i + 1) - 1), i);
    }
  }
  EXPECT_EQ(LatencyLayout::Index(UINT64_MAX), LatencyLayout::kBuckets - 1);
}

TEST(LatencyLayout, MiddlesAreWithinOnePercent) {
  for (double value = 1e3; value <= 100e9; value *= 1.0007) {
    const auto ns = static_cast<uint64_t>(value);
    const auto middle =
        static_cast<double>(LatencyLayout::Middle(LatencyLayout::Index(ns)));
    EXPECT_LE(std::abs(middle - static_cast<double>(ns)),
              0.01 * static_cast<double>(ns))
        << ns;
  }
}

TEST(LatencyHistogram, QuantilesOfKnownValues) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5).count(), 0);
  for (int i = 1; i <= 1000; ++i) histogram.Record(nanoseconds(i * 1000));
  EXPECT_EQ(histogram.Count(), 1000u);
  const auto near = [&](double quantile, double ns) {
    const auto got = static_cast<double>(histogram.Quantile(quantile).count());
    EXPECT_NEAR(got, ns, ns * 0.01) << quantile;
  };
  near(0.5, 500e3);
  near(0.9, 900e3);
  near(0.99, 990e3);
  near(0.999, 999e3);
  near(1, 1000e3);
  near(0, 1e3);
}

TEST(LatencyHistogram, AgreesWithASortedList) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> draw(11, 2);
  LatencyHistogram histogram;
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) {
    const double ns = std::clamp(draw(random), 1e3, 100e9);
    values.push_back(std::floor(ns));
    histogram.Record(nanoseconds(static_cast<int64_t>(ns)));
  }
  std::ranges::sort(values);
  for (const double quantile : {0.01, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const size_t rank = static_cast<size_t>(
        std::ceil(quantile * static_cast<double>(values.size())));
    const double exact = values[rank - 1];
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(quantile).count()),
                exact, exact * 0.01);
  }
}

TEST(LatencyHistogram, ABillionSamplesLoseNothing) {
  // 1e9 values, evenly spread from 1 us to 100 s on a logarithmic scale; the
  // memory is the same as for one.
  constexpr int kValues = 1000;
  constexpr uint64_t kEach = 1'000'000;
  LatencyHistogram histogram;
  std::vector<double> values;
  for (int i = 0; i < kValues; ++i) {
    const double ns = 1e3 * std::pow(1e8, i / (kValues - 1.0));
    values.push_back(std::floor(ns));
    histogram.Add(LatencyLayout::Index(static_cast<uint64_t>(ns)), kEach);
  }
  EXPECT_EQ(histogram.Count(), kValues * kEach);
  for (int i = 0; i < kValues; ++i) {
    const double exact = values[static_cast<size_t>(i)];
    const double quantile = (i + 0.5) / kValues;
    EXPECT_NEAR(static_cast<double>(histogram.Quantile(quantile).count()),
                exact, exact * 0.01);
  }
  static_assert(sizeof(SharedLatencyHistogram) < 20'000);
}

TEST(LatencyHistogram, MergesAndSubtracts) {
  LatencyHistogram a, b;
  a.Record(nanoseconds(1000));
  b.Record(nanoseconds(1000));
  b.Record(nanoseconds(5'000'000));
  LatencyHistogram sum = a;
  sum.Merge(b);
  EXPECT_EQ(sum.Count(), 3u);
  EXPECT_EQ(sum.CountAtMost(nanoseconds(2000)), 2u);
  sum.Subtract(a);
  EXPECT_EQ(sum, b);
}

TEST(SharedLatencyHistogram, ReadsWhatWasRecorded) {
  SharedLatencyHistogram shared;
  LatencyHistogram plain, read;
  for (int64_t ns : {-5L, 0L, 7L, 63L, 64L, 1'000'000L, 1'000'000'000'000L}) {
    shared.Record(nanoseconds(ns));
    plain.Record(nanoseconds(ns));
  }
  shared.AddTo(&read);
  EXPECT_EQ(read, plain);
}

}  // namespace
}  // namespace vfsload
