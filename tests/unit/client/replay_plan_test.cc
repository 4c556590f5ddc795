#include "client/load/replay_plan.h"

#include <gtest/gtest.h>

#include <numeric>

namespace vfsload {
namespace {

ReplayPlan PlanOf(std::string_view text) {
  const StraceLog log = StraceLog::Parse(text);
  ReplayPlan plan = ReplayPlan::Make(log, "/below");
  // Every call is accounted for, once.
  size_t left_out = 0;
  for (const auto& [reason, count] : plan.left_out) left_out += count;
  EXPECT_EQ(plan.calls, plan.replayed + left_out);
  return plan;
}

size_t Closes(const ReplayPlan& plan) {
  size_t closes = 0;
  for (const auto& operation : plan.operations) {
    closes += operation.operation.has_close() ? 1 : 0;
  }
  return closes;
}

TEST(ReplayPlan, OpenStatClose) {
  const ReplayPlan plan = PlanOf(
      "1 openat(AT_FDCWD, \"/a\", O_RDONLY|O_CLOEXEC) = 3\n"
      "1 newfstatat(3, \"\", {st_mode=S_IFREG|0600, ...}, AT_EMPTY_PATH) = 0\n"
      "1 read(3, \"\", 10) = 0\n"
      "1 close(3) = 0\n");
  ASSERT_EQ(plan.operations.size(), 3u);
  EXPECT_EQ(plan.operations[0].operation.open().path(), "/below/a");
  EXPECT_EQ(plan.operations[1].uses, 0u);
  EXPECT_EQ(plan.operations[1].operation.stat().path(), "");
  EXPECT_EQ(plan.operations[2].uses, 0u);
  ASSERT_EQ(plan.tree.size(), 1u);
  EXPECT_EQ(plan.tree[0].mode, 0100600u);
  EXPECT_EQ(plan.replayed, 3u);
}

TEST(ReplayPlan, AnOpenFileIsClosedWithItsLastDescriptor) {
  const ReplayPlan plan = PlanOf(
      "1 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n"
      "1 dup2(3, 7) = 7\n"
      "1 fcntl(3, F_DUPFD_CLOEXEC, 10) = 10\n"
      "1 close(3) = 0\n"
      "1 close(7) = 0\n"
      "1 close(10) = 0\n"
      "1 close(11) = 0\n"
      "1 close(12) = -1 EBADF (Bad file descriptor)\n");
  EXPECT_EQ(Closes(plan), 2u);
  EXPECT_EQ(plan.operations[1].call, 5u);
  EXPECT_EQ(plan.operations[2].expected_errno, 9);
}

TEST(ReplayPlan, ForkCopiesExecClosesExitCloses) {
  const ReplayPlan plan = PlanOf(
      "1 openat(AT_FDCWD, \"/a\", O_RDONLY|O_CLOEXEC) = 3\n"
      "1 openat(AT_FDCWD, \"/b\", O_RDONLY) = 4\n"
      "1 vfork( <unfinished ...>\n"
      // Before its parent's call returns.
      "2 execve(\"/bin/x\", [\"x\"], 0x7 /* 2 vars */) = 0\n"
      "1 <... vfork resumed>) = 2\n"
      "1 close(3) = 0\n"
      "1 close(4) = 0\n"
      "2 newfstatat(4, \"\", {st_mode=S_IFREG|0644, ...}, AT_EMPTY_PATH) = 0\n"
      "2 newfstatat(3, \"\", 0x1, AT_EMPTY_PATH) = -1 EBADF (Bad)\n"
      "2 +++ exited with 0 +++\n");
  // /a: closed by its close, as exec dropped the copy; /b: by the exit.
  ASSERT_EQ(Closes(plan), 2u);
  EXPECT_TRUE(plan.operations[3].operation.has_close());
  EXPECT_EQ(plan.operations[3].uses, 0u);
  EXPECT_TRUE(plan.operations[4].operation.has_stat());
  EXPECT_TRUE(plan.operations[5].operation.has_close());
  EXPECT_EQ(plan.operations[5].uses, 1u);
  EXPECT_FALSE(plan.operations[5].call);
}

TEST(ReplayPlan, ThreadsShareATable) {
  const ReplayPlan plan = PlanOf(
      "1 clone3({flags=CLONE_VM|CLONE_FS|CLONE_FILES|CLONE_THREAD}, 88) = 2\n"
      "2 openat(AT_FDCWD, \"/a\", O_RDONLY) = 3\n"
      "2 chdir(\"/d\") = 0\n"
      "2 +++ exited with 0 +++\n"
      "1 fstat(3, {st_mode=S_IFREG|0644, ...}) = 0\n"
      "1 stat(\"x\", {st_mode=S_IFREG|0644, ...}) = 0\n"
      "1 close(3) = 0\n");
  EXPECT_EQ(Closes(plan), 1u);
  EXPECT_EQ(plan.operations[3].operation.stat().path(), "/below/d/x");
}

TEST(ReplayPlan, RelativePathsAreTheProcesss) {
  const ReplayPlan plan = PlanOf(
      "1 getcwd(\"/src\", 4096) = 5\n"
      "1 stat(\"a\", {st_mode=S_IFREG|0644, ...}) = 0\n"
      "1 fork() = 2\n"
      "2 chdir(\"sub\") = 0\n"
      "2 stat(\"a\", {st_mode=S_IFREG|0644, ...}) = 0\n"
      "1 stat(\"b\", 0x7) = -1 ENOENT (No such file or directory)\n"
      "2 openat(AT_FDCWD, \"..\", O_RDONLY|O_DIRECTORY) = 3\n"
      "2 unlinkat(3, \"c\", 0) = 0\n");
  EXPECT_EQ(plan.operations[0].operation.stat().path(), "/below/src/a");
  EXPECT_EQ(plan.operations[2].operation.stat().path(), "/below/src/sub/a");
  EXPECT_EQ(plan.operations[3].operation.stat().path(), "/below/src/b");
  EXPECT_EQ(plan.operations[3].expected_errno, 2);
  EXPECT_EQ(plan.operations[5].operation.unlink().path(), "c");
  EXPECT_EQ(plan.operations[5].uses, 4u);
  bool found = false;
  for (const auto& entry : plan.tree) found |= entry.path == "/src/c";
  EXPECT_TRUE(found);
}

TEST(ReplayPlan, WhatCannotBeReplayedHasAReason) {
  const ReplayPlan plan = PlanOf(
      "1 openat(AT_FDCWD, \"/a\"..., O_RDONLY) = 3\n"
      "1 fstat(1, {st_mode=S_IFIFO|0600, ...}) = 0\n"
      "1 openat(AT_FDCWD, \"/dev/tty\", O_RDWR) = -1 ENXIO (No such device)\n"
      "1 brk(NULL) = 0x1\n"
      "1 openat(AT_FDCWD, \"/b\", O_RDONLY <unfinished ...>\n");
  EXPECT_EQ(plan.replayed, 0u);
  EXPECT_EQ(plan.left_out.size(), 5u);
}

TEST(ReplayPlan, LinksLeadWhereTheirTargetsSay) {
  const ReplayPlan plan = PlanOf(
      "1 stat(\"/bin/cc\", {st_mode=S_IFREG|0755, ...}) = 0\n"
      "1 readlink(\"/bin/cc\", \"gcc-12\", 100) = 6\n"
      "1 readlink(\"/bin/gcc-12\", 0x1, 100) = -1 EINVAL (Invalid argument)\n");
  std::map<std::string, std::string> targets;
  for (const auto& entry : plan.tree) targets[entry.path] = entry.target;
  EXPECT_EQ(targets.at("/bin/cc"), "gcc-12");
  EXPECT_EQ(targets.at("/bin/gcc-12"), "");
}

}  // namespace
}  // namespace vfsload
