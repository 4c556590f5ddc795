#include "client/load/slo.h"

#include <gtest/gtest.h>

namespace vfsload {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SloTest : public testing::Test {
 protected:
  SloTest() {
    Recorder recorder;
    const Method method = UnaryMethod(Operation::kStat);
    for (int i = 1; i <= 1000; ++i) {
      recorder.CountOperations(Operation::kStat, 0);
      recorder.RecordLatency(method, milliseconds(1));
      recorder.RecordResponse(method, milliseconds(i > 980 ? 50 : 2));
    }
    recorder.CountWrong(5);
    recorder.CountScheduled(1000);
    recorder.CountDropped(Drop::kLate, 10);
    recorder.AddTo(&result_.totals);
    result_.measured = seconds(2);
  }

  bool Met(std::string_view text) {
    const auto slo = Slo::Parse(text);
    EXPECT_TRUE(slo) << slo.error();
    return AllMet(slo->Judge(result_));
  }

  PhaseResult result_;
};

TEST_F(SloTest, Conditions) {
  EXPECT_TRUE(Met("p99<2ms"));
  EXPECT_FALSE(Met("p99<900us"));
  EXPECT_TRUE(Met("errors<1%,ops>499,max<1s"));
  EXPECT_FALSE(Met("errors<0.1%"));
  EXPECT_FALSE(Met("ops>500"));
  EXPECT_TRUE(Met("ops>=500"));
  EXPECT_TRUE(Met("dropped<=1%"));
  EXPECT_FALSE(Met("dropped<1%"));
  EXPECT_FALSE(Met("p99<2ms,ops>1e6"));
}

TEST_F(SloTest, AnOpenLoopIsJudgedByResponseTime) {
  result_.options.open_loop =
      OpenLoop{*RateProfile::Parse("500", 2), Arrivals::kConstant, {}};
  EXPECT_FALSE(Met("p99<2.1ms"));
  EXPECT_TRUE(Met("p95<2.1ms"));
}

TEST_F(SloTest, NothingMeasuredMeetsNothing) {
  result_ = PhaseResult();
  EXPECT_FALSE(Met("p99<2ms"));
}

TEST_F(SloTest, BadOnesAreRefused) {
  for (const char* text :
       {"", "p99", "p99<", "p99<2", "p101<2ms", "q<1ms", "errors<1", "ops>x",
        "p99<2ms,", "p99<-1ms", "errors<-1%", "p<1ms"}) {
    EXPECT_FALSE(Slo::Parse(text)) << text;
  }
}

}  // namespace
}  // namespace vfsload
