// vfsctl fast-paths: what a list of names asks for.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/ctl/fast_paths_command.h"

namespace vfsctl {
namespace {

// The names of the fast paths that a list switches on.
std::vector<std::string> On(std::string_view list) {
  std::vector<std::string> names;
  const auto request = ParseFastPaths(list);
  EXPECT_TRUE(request.has_value()) << list;
  if (!request) return names;
  EXPECT_EQ(request->settings_size(), 4) << list;
  for (const auto& setting : request->settings()) {
    if (setting.enabled())
      names.emplace_back(FastPathName(setting.fast_path()));
  }
  return names;
}

TEST(FastPaths, AListSetsEveryOne) {
  EXPECT_EQ(On("all").size(), 4U);
  EXPECT_TRUE(On("none").empty());
  EXPECT_EQ(On("permanent"), (std::vector<std::string>{"permanent"}));
  EXPECT_EQ(On("empty-path,release-empty"),
            (std::vector<std::string>{"release-empty", "empty-path"}));
}

TEST(FastPaths, WhatIsNoNameIsNamed) {
  for (const char* list : {"warp", "permanent,warp", "warp,all"}) {
    const auto request = ParseFastPaths(list);
    ASSERT_FALSE(request.has_value()) << list;
    EXPECT_NE(request.error().find("'warp'"), std::string::npos) << list;
  }
  for (const char* list : {"", "permanent,", ",", "permanent,all"})
    EXPECT_FALSE(ParseFastPaths(list).has_value()) << list;
}

}  // namespace
}  // namespace vfsctl
