// Fast paths: their names, lists of them, switches and counters.

#include "server/vfs/fast_paths.h"

#include <gtest/gtest.h>

#include <string>

namespace vfsd::vfs {
namespace {

TEST(FastPathSetTest, ParsesAllAndNone) {
  for (const FastPath path : kAllFastPaths) {
    EXPECT_TRUE(FastPathSet::Parse("all")->contains(path));
    EXPECT_FALSE(FastPathSet::Parse("none")->contains(path));
  }
}

TEST(FastPathSetTest, ParsesEverySubsetInAnyOrder) {
  for (unsigned bits = 1; bits < 1U << kFastPathCount; ++bits) {
    std::string forward;
    std::string backward;
    for (const FastPath path : kAllFastPaths) {
      if ((bits >> static_cast<unsigned>(path) & 1) == 0) continue;
      const std::string name(FastPathName(path));
      forward += (forward.empty() ? "" : ",") + name;
      backward = name + (backward.empty() ? "" : ",") + backward;
    }
    for (const std::string& list : {forward, backward}) {
      const auto set = FastPathSet::Parse(list);
      ASSERT_TRUE(set.has_value()) << list;
      for (const FastPath path : kAllFastPaths) {
        EXPECT_EQ(set->contains(path),
                  (bits >> static_cast<unsigned>(path) & 1) != 0)
            << list;
      }
    }
  }
}

TEST(FastPathSetTest, RefusesEverythingElse) {
  for (const char* const list :
       {"", ",", "All", "NONE", "all,none", "all,empty-path", "none,empty-path",
        "release", "release-empty,", ",release-empty",
        "release-empty,,empty-path", " release-empty", "release-empty ",
        "release-empty, empty-path", "release_empty",
        "release-empty;empty-path", "unknown"}) {
    EXPECT_FALSE(FastPathSet::Parse(list).has_value()) << '"' << list << '"';
  }
}

TEST(FastPathSetTest, TakesARepeatedNameOnce) {
  const auto set = FastPathSet::Parse("permanent,permanent");
  ASSERT_TRUE(set.has_value());
  EXPECT_TRUE(set->contains(FastPath::kPermanent));
  EXPECT_FALSE(set->contains(FastPath::kEmptyPath));
}

TEST(FastPathsTest, NamesGoBothWays) {
  for (const FastPath path : kAllFastPaths)
    EXPECT_EQ(FastPathFromName(FastPathName(path)), path);
  EXPECT_FALSE(FastPathFromName("").has_value());
  EXPECT_FALSE(FastPathFromName("all").has_value());
}

TEST(FastPathsTest, SwitchesAndCountersAreEachPathsOwn) {
  FastPaths paths(*FastPathSet::Parse("open-consume"));
  for (const FastPath path : kAllFastPaths)
    EXPECT_EQ(paths.enabled(path), path == FastPath::kOpenConsume);
  paths.Set(FastPath::kOpenConsume, false);
  paths.Set(FastPath::kEmptyPath, true);
  for (const FastPath path : kAllFastPaths)
    EXPECT_EQ(paths.enabled(path), path == FastPath::kEmptyPath);
  paths.CountHit(FastPath::kPermanent);
  paths.CountHit(FastPath::kPermanent);
  paths.CountGeneral(FastPath::kReleaseEmpty);
  for (const FastPath path : kAllFastPaths) {
    EXPECT_EQ(paths.hits(path), path == FastPath::kPermanent ? 2 : 0);
    EXPECT_EQ(paths.general(path), path == FastPath::kReleaseEmpty ? 1 : 0);
  }
}

}  // namespace
}  // namespace vfsd::vfs
