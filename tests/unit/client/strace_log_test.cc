#include "client/load/strace_log.h"

#include <gtest/gtest.h>

#include <string>

namespace vfsload {
namespace {

TEST(StraceLog, ACallOfALine) {
  const StraceLog log = StraceLog::Parse(
      "17 newfstatat(3, \"a,b)\\n\", {st_mode=S_IFREG|0644, st_size=5, ...}, "
      "AT_EMPTY_PATH) = 0\n"
      "17 openat(AT_FDCWD, \"/x\", O_RDONLY) = -1 ENOENT (No such file or "
      "directory)\n"
      "17 exit_group(0)     = ?\n"
      "17 +++ exited with 0 +++\n");
  ASSERT_EQ(log.calls.size(), 3u);
  const Syscall& stat = log.calls[0];
  EXPECT_EQ(stat.pid, 17);
  EXPECT_EQ(stat.name, "newfstatat");
  ASSERT_EQ(stat.arguments.size(), 4u);
  EXPECT_EQ(StringArgument(stat.arguments[1]), "a,b)\n");
  EXPECT_EQ(stat.arguments[2], "{st_mode=S_IFREG|0644, st_size=5, ...}");
  EXPECT_EQ(stat.result, 0);
  EXPECT_EQ(log.calls[1].result, -1);
  EXPECT_EQ(log.calls[1].error, "ENOENT");
  EXPECT_FALSE(log.calls[2].result);
  EXPECT_EQ(log.events.back().kind, TraceEvent::Kind::kExit);
  EXPECT_EQ(log.strange_lines, 0u);
}

TEST(StraceLog, InterruptedCallsAreJoined) {
  const StraceLog log = StraceLog::Parse(
      "1 vfork( <unfinished ...>\n"
      "2 openat(AT_FDCWD, \"/a\",  <unfinished ...>\n"
      "3 close(4 <unfinished ...>\n"
      "1 <... vfork resumed>) = 2\n"
      "2 <... openat resumed>O_RDONLY) = 3</a>\n"
      "9 <... read resumed>\"\", 5) = 0\n");
  ASSERT_EQ(log.calls.size(), 3u);
  EXPECT_EQ(log.calls[0].result, 2);
  ASSERT_EQ(log.calls[1].arguments.size(), 3u);
  EXPECT_EQ(log.calls[1].arguments[2], "O_RDONLY");
  EXPECT_EQ(log.calls[1].result, 3);
  EXPECT_EQ(log.unanswered, 1u);
  EXPECT_EQ(log.unbegun, 1u);
  // What a close closes is free from its start on.
  EXPECT_EQ(log.calls[2].arguments[0], "4");
}

TEST(StraceLog, TimesAndTerminals) {
  const StraceLog log = StraceLog::Parse(
      "[pid  7] 01:00:02.5 close(3) = 0 <0.000010>\n"
      "1700000000.25 close(3) = 0\n"
      "--- SIGCHLD {si_signo=SIGCHLD} ---\n"
      "strace: Process 8 attached\n");
  ASSERT_EQ(log.calls.size(), 2u);
  EXPECT_EQ(log.calls[0].pid, 7);
  EXPECT_DOUBLE_EQ(*log.calls[0].time, 3602.5);
  EXPECT_DOUBLE_EQ(*log.calls[1].time, 1700000000.25);
  EXPECT_EQ(log.signals, 2u);
}

TEST(StraceLog, GarbageIsCounted) {
  std::string garbage = "\x01\x02(\n(((\nname\n= = =\n12\n[pid x] a(\n<... x\n";
  garbage +=
      std::string(100, '{') + "\n" + "f(\"" + std::string(50, '\\') + "\n";
  const StraceLog log = StraceLog::Parse(garbage);
  EXPECT_EQ(log.calls.size(), 0u);
  EXPECT_GT(log.strange_lines, 5u);
}

TEST(StraceLog, Arguments) {
  EXPECT_EQ(StringArgument("\"a\\tb\\\"c\\\\d\\303\\xa4\\0\""),
            std::string("a\tb\"c\\d\xc3\xa4\0", 10));
  EXPECT_FALSE(StringArgument("\"cut\"..."));
  EXPECT_FALSE(StringArgument("NULL"));
  EXPECT_EQ(DescriptorArgument("3</usr/lib>"), 3);
  EXPECT_EQ(DescriptorArgument("AT_FDCWD</home>"), kCurrentDirectory);
  EXPECT_FALSE(DescriptorArgument("0x7fff"));
  EXPECT_EQ(FlagsArgument("O_WRONLY|O_CREAT|0x4000"), 01u | 0100u | 0x4000u);
  EXPECT_EQ(FlagsArgument("0644"), 0644u);
  EXPECT_EQ(FlagsArgument("S_IFDIR|S_ISVTX|0777"), 0041777u);
}

}  // namespace
}  // namespace vfsload
