#include "client/load/bottleneck.h"

#include <gtest/gtest.h>

namespace vfsload {
namespace {

using std::chrono::seconds;

PhaseResult Measured(double client_cpus, std::optional<double> server_cpus) {
  Recorder recorder;
  recorder.CountOperations(Operation::kStat, 0, 10'000);
  PhaseResult result;
  recorder.AddTo(&result.totals);
  result.measured = seconds(10);
  result.options.threads = 2;
  result.client_cpu_seconds = client_cpus * 10;
  if (server_cpus) result.server_cpu_seconds = *server_cpus * 10;
  return result;
}

Limit LimitOf(PhaseResult result, double cpus = 0) {
  result.shared_cpus = cpus;
  return FindBottleneck(result).limit;
}

TEST(Bottleneck, OfAClosedLoop) {
  EXPECT_EQ(LimitOf(PhaseResult()), Limit::kUnknown);
  EXPECT_EQ(LimitOf(Measured(1.95, 0.5)), Limit::kClient);
  EXPECT_EQ(LimitOf(Measured(0.5, 1.0)), Limit::kServer);
  EXPECT_EQ(LimitOf(Measured(0.5, 0.3)), Limit::kInFlight);
  EXPECT_EQ(LimitOf(Measured(0.5, std::nullopt)), Limit::kInFlight);
  EXPECT_EQ(LimitOf(Measured(0.9, 1.0), 2), Limit::kMachine);
}

TEST(Bottleneck, SaysPlainlyWhenItIsTheClient) {
  EXPECT_NE(FindBottleneck(Measured(2, 0.1)).text.find("client's own limit"),
            std::string::npos);
}

TEST(Bottleneck, OfAnOpenLoop) {
  PhaseResult result = Measured(0.5, 0.5);
  result.options.open_loop =
      OpenLoop{*RateProfile::Parse("1000", 10), Arrivals::kConstant, {}};
  result.planned_operations = 10'000;
  EXPECT_EQ(LimitOf(result), Limit::kNone);
  result.planned_operations = 20'000;
  EXPECT_EQ(LimitOf(result), Limit::kInFlight);
  result.client_cpu_seconds = 20;
  EXPECT_EQ(LimitOf(result), Limit::kClient);
}

}  // namespace
}  // namespace vfsload
