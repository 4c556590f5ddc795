#include "client/ctl/stat_format.h"

#include <gtest/gtest.h>

#include "client/ctl/command.h"

namespace vfsctl {
namespace {

TEST(StatFormat, Modes) {
  EXPECT_EQ(ModeText(0100644), "-rw-r--r--");
  EXPECT_EQ(ModeText(0040755), "drwxr-xr-x");
  EXPECT_EQ(ModeText(0120777), "lrwxrwxrwx");
  EXPECT_EQ(ModeText(0104755), "-rwsr-xr-x");
  EXPECT_EQ(ModeText(0104644), "-rwSr--r--");
  EXPECT_EQ(ModeText(0102755), "-rwxr-sr-x");
  EXPECT_EQ(ModeText(0041777), "drwxrwxrwt");
  EXPECT_EQ(ModeText(0041776), "drwxrwxrwT");
  EXPECT_EQ(ModeText(0060660), "brw-rw----");
}

TEST(StatFormat, Types) {
  EXPECT_EQ(TypeText(0100644), "regular file");
  EXPECT_EQ(TypeText(0010644), "fifo");
  EXPECT_EQ(TypeText(0), "weird file");
  EXPECT_EQ(TypeLetter(4), 'd');
  EXPECT_EQ(TypeLetter(12), 's');
  EXPECT_EQ(TypeLetter(0), '?');
}

TEST(StatFormat, TimesAreUtc) {
  EXPECT_EQ(TimeText(0, 0), "1970-01-01 00:00:00.000000000 +0000");
  EXPECT_EQ(TimeText(1709294400, 5), "2024-03-01 12:00:00.000000005 +0000");
  EXPECT_EQ(TimeText(-1, 0), "1969-12-31 23:59:59.000000000 +0000");
}

TEST(StatFormat, TextAndJson) {
  vfs::v1::StatResponse stat;
  stat.set_mode(0100644);
  stat.set_size(12);
  stat.set_ino(42);
  stat.set_nlink(1);
  const std::string text = StatText("/a\nb", stat);
  EXPECT_NE(text.find("File: /a\\012b"), std::string::npos) << text;
  EXPECT_NE(text.find("(0644/-rw-r--r--)"), std::string::npos) << text;
  EXPECT_NE(text.find(" Birth: -"), std::string::npos) << text;
  const auto json = StatJson("/a", stat);
  EXPECT_EQ(json["size"], 12);
  EXPECT_EQ(json["mode"], "0644");
  EXPECT_EQ(json["type"], "regular file");
  EXPECT_FALSE(json.contains("btime"));
}

TEST(Printable, KeepsTextAndEscapesTheRest) {
  EXPECT_EQ(Printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(Printable("caf\xe9"), "caf\\351");
  EXPECT_EQ(Printable("a\x1b[31m"), "a\\033[31m");
}

}  // namespace
}  // namespace vfsctl
