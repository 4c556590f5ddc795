// The words of vfsload's command line: durations, scenarios and mixes, plans.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/load/duration.h"
#include "client/load/pacer.h"
#include "client/load/playlist.h"
#include "client/load/run.h"
#include "client/load/scenario.h"

namespace vfsload {
namespace {

using std::chrono::nanoseconds;

TEST(Duration, Parses) {
  const std::map<std::string, int64_t> cases = {{"10s", 10'000'000'000},
                                                {"500ms", 500'000'000},
                                                {"250us", 250'000},
                                                {"1m30s", 90'000'000'000},
                                                {"2h", 7'200'000'000'000},
                                                {"1.5s", 1'500'000'000},
                                                {"0", 0},
                                                {"0s", 0},
                                                {"1m", 60'000'000'000}};
  for (const auto& [text, ns] : cases) {
    const auto parsed = ParseDuration(text);
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(parsed->count(), ns) << text;
  }
}

TEST(Duration, SaysWhatIsWrong) {
  for (const char* text : {"", "10", "s", "10x", "-1s", "1s2", "nans", "infs",
                           "1e99h", "99999999999h", " 1s"}) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().find("duration"), std::string::npos);
  }
}

TEST(Duration, TextHasThreeDigits) {
  EXPECT_EQ(DurationText(nanoseconds(870)), "0.87 us");
  EXPECT_EQ(DurationText(nanoseconds(12'345)), "12.3 us");
  EXPECT_EQ(DurationText(nanoseconds(123'456'789)), "123 ms");
  EXPECT_EQ(DurationText(nanoseconds(1'500'000'000)), "1.50 s");
}

TEST(Scenario, NamesAreUniqueAndFound) {
  std::set<std::string_view> names;
  for (const Scenario& scenario : Scenarios()) {
    EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
    EXPECT_EQ(FindScenario(scenario.name), &scenario);
    EXPECT_FALSE(scenario.summary.empty());
    EXPECT_NE(scenario.build, nullptr);
  }
  for (const char* name : {"openro3", "open1", "openneg", "fstat", "statx-null",
                           "statx-path", "procread", "removable-read",
                           "readdir", "create-unlink", "rename", "build"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
  EXPECT_EQ(FindScenario("nosuch"), nullptr);
}

TEST(Mix, ParsesNamesAndWeights) {
  const auto mix = Mix::Parse("openro3=3,openneg,fstat=0.5");
  ASSERT_TRUE(mix) << mix.error();
  ASSERT_EQ(mix->parts().size(), 3u);
  EXPECT_EQ(mix->parts()[0].scenario->name, "openro3");
  EXPECT_EQ(mix->parts()[0].weight, 3);
  EXPECT_EQ(mix->parts()[1].weight, 1);
  EXPECT_EQ(mix->parts()[2].weight, 0.5);
  EXPECT_FALSE(mix->NeedsDirectory());
  EXPECT_TRUE(Mix::Parse("fstat,rename")->NeedsDirectory());
  EXPECT_FALSE(Mix::Parse("procread")->NeedsFiles());
}

TEST(Mix, SaysWhatIsWrong) {
  for (const char* text :
       {"", ",", "openro3,", "nosuch", "openro3=", "openro3=0", "openro3=-1",
        "openro3=x", "openro3=1x", "openro3=inf", "openro3=nan"}) {
    const auto mix = Mix::Parse(text);
    ASSERT_FALSE(mix) << text;
    EXPECT_FALSE(mix.error().empty());
  }
  // A typo is answered with what there is.
  EXPECT_NE(Mix::Parse("openoneg").error().find("openneg"), std::string::npos);
}

TEST(Playlist, EqualWeightsTakeTurns) {
  const std::vector<Unit> units(5);
  Playlist playlist(units, 1000, 42);
  for (int round = 0; round < 3; ++round) {
    std::set<const Unit*> seen;
    for (size_t i = 0; i < units.size(); ++i) seen.insert(&playlist.Next());
    EXPECT_EQ(seen.size(), units.size());
  }
}

TEST(Playlist, FollowsWeightsAndSeed) {
  std::vector<Unit> units(2);
  units[0].weight = 3;
  units[1].weight = 1;
  Playlist playlist(units, 4000, 7), same(units, 4000, 7);
  int first = 0;
  for (int i = 0; i < 4000; ++i) {
    const Unit* unit = &playlist.Next();
    EXPECT_EQ(unit, &same.Next());
    first += unit == &units[0];
  }
  EXPECT_NEAR(first, 3000, 150);
}

TEST(ClosedLoopPacer, StopsAtTheCountOrTheFlag) {
  std::atomic<bool> stop = false;
  ClosedLoopPacer counted(stop, 5);
  EXPECT_EQ(counted.Take(3, 3, {}).units, 3u);
  EXPECT_FALSE(counted.Exhausted());
  EXPECT_EQ(counted.Take(3, 3, {}).units, 2u);
  EXPECT_TRUE(counted.Exhausted());
  EXPECT_EQ(counted.Take(1, 1, {}).units, 0u);
  ClosedLoopPacer endless(stop, std::nullopt);
  EXPECT_EQ(endless.Take(1000, 1000, {}).units, 1000u);
  stop = true;
  EXPECT_EQ(endless.Take(1, 1, {}).units, 0u);
}

std::vector<Mix> Mixes(const std::vector<std::string>& texts) {
  std::vector<Mix> mixes;
  for (const std::string& text : texts) mixes.push_back(*Mix::Parse(text));
  return mixes;
}

TEST(PlanPhases, EachScenarioOnceForEachBatch) {
  const auto mixes = Mixes({"openneg", "fstat"});
  RunOptions options;
  options.batches = {1, 1000};
  options.threads = 2;
  const auto phases = PlanPhases(options, mixes);
  ASSERT_TRUE(phases) << phases.error();
  ASSERT_EQ(phases->size(), 4u);
  EXPECT_EQ((*phases)[0].Mode(), "unary");
  EXPECT_EQ((*phases)[0].connections, 4u);
  EXPECT_EQ((*phases)[0].in_flight, 32u);
  EXPECT_EQ((*phases)[1].Mode(), "batch 1000");
  EXPECT_EQ((*phases)[1].connections, 2u);
  EXPECT_EQ((*phases)[1].in_flight, 16u);
  EXPECT_EQ((*phases)[2].mix, &mixes[1]);
}

TEST(PlanPhases, ACountedLoadHasOneCallInFlightAThread) {
  const auto mixes = Mixes({"procread"});
  RunOptions options;
  options.threads = 64;
  options.count = 4096;
  const auto phases = PlanPhases(options, mixes);
  ASSERT_TRUE(phases) << phases.error();
  EXPECT_EQ((*phases)[0].connections, 4u);
  EXPECT_EQ((*phases)[0].in_flight, 64u);
  EXPECT_EQ((*phases)[0].warmup.count(), 0);
}

TEST(PlanPhases, RefusesWhatMakesNoSense) {
  const auto mixes = Mixes({"procread", "fstat"});
  const auto refused = [&](auto change) {
    RunOptions options;
    change(options);
    const auto phases = PlanPhases(options, mixes);
    EXPECT_FALSE(phases);
    return phases ? std::string() : phases.error();
  };
  EXPECT_NE(refused([](RunOptions& o) { o.threads = 0; }).find("--threads"),
            std::string::npos);
  EXPECT_NE(refused([](RunOptions& o) { o.count = 0; }).find("--count"),
            std::string::npos);
  EXPECT_NE(refused([](RunOptions& o) { o.duration = "x"; }).find("--duration"),
            std::string::npos);
  EXPECT_NE(refused([](RunOptions& o) { o.warmup = "x"; }).find("--warmup"),
            std::string::npos);
  EXPECT_NE(
      refused([](RunOptions& o) { o.duration = "0"; }).find("second phase"),
      std::string::npos);
  EXPECT_NE(
      refused([](RunOptions& o) { o.batches = {2'000'000}; }).find("--batch"),
      std::string::npos);
  EXPECT_NE(refused([](RunOptions& o) {
              o.threads = 8;
              o.in_flight = 4;
            }).find("at least 8"),
            std::string::npos);
}

}  // namespace
}  // namespace vfsload
