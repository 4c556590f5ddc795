#include "client/load/trace_tree.h"

#include <gtest/gtest.h>

#include <map>

namespace vfsload {
namespace {

std::map<std::string, uint32_t> Initial(const TraceTree& tree) {
  std::map<std::string, uint32_t> modes;
  for (const auto& entry : tree.Initial()) modes[entry.path] = entry.mode;
  return modes;
}

TEST(TraceTree, WhatIsFoundWasThere) {
  TraceTree tree;
  EXPECT_EQ(tree.SeePresent("/a/b/../c", true, 0100600), "");
  EXPECT_EQ(tree.SeeMissing("/a/d", true), "");
  tree.Make("/a/new", 0100644);
  EXPECT_EQ(tree.SeePresent("/a/new", true, 0), "");
  const auto initial = Initial(tree);
  EXPECT_EQ(initial.size(), 3u);
  EXPECT_EQ(initial.at("/a"), 0040755u);
  EXPECT_EQ(initial.at("/a/b"), 0040755u);
  EXPECT_EQ(initial.at("/a/c"), 0100600u);
}

TEST(TraceTree, ChangesThatNobodyMadeAreNoticed) {
  TraceTree tree;
  tree.SeeMissing("/x", true);
  EXPECT_EQ(tree.SeePresent("/x", true, 0), "/x");
  EXPECT_EQ(tree.SeeMissing("/x", true), "/x");
  tree.Make("/x", 0100644);
  tree.Remove("/x");
  EXPECT_EQ(tree.SeeMissing("/x", true), "");
}

TEST(TraceTree, LinksLead) {
  TraceTree tree;
  tree.LearnSymlink("/lib", "usr/lib");
  tree.LearnSymlink("/usr/lib/abs", "/etc/x");
  tree.SeePresent("/lib/libc.so", true, 0);
  tree.SeePresent("/lib/abs", true, 0);
  EXPECT_EQ(tree.Canonical("/lib/abs", false), "/usr/lib/abs");
  const auto initial = Initial(tree);
  EXPECT_TRUE(initial.contains("/usr/lib/libc.so"));
  EXPECT_TRUE(initial.contains("/etc/x"));
  EXPECT_EQ(initial.at("/lib"), 0120777u);
}

TEST(TraceTree, ARenameTakesWhatIsBelowAlong) {
  TraceTree tree;
  tree.SeePresent("/d/e/f", true, 0);
  tree.Rename("/d", "/n");
  EXPECT_TRUE(tree.IsPresent("/n/e/f", true));
  EXPECT_FALSE(tree.IsPresent("/d/e/f", true));
  EXPECT_FALSE(Initial(tree).contains("/n"));
  EXPECT_TRUE(Initial(tree).contains("/d/e/f"));
}

TEST(TraceTree, ALoopOfLinksEnds) {
  TraceTree tree;
  tree.LearnSymlink("/a", "b");
  tree.LearnSymlink("/b", "a");
  tree.SeeMissing("/a/x", true);
}

}  // namespace
}  // namespace vfsload
