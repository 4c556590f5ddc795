#include "server/storage/import_spec.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace vfsd::storage {
namespace {

using ::testing::HasSubstr;

TEST(ImportSpec, TakesADirectoryAndMaybeAMountPoint) {
  const struct {
    const char* text;
    ImportSpec expected;
  } kCases[] = {
      {"/srv/tree", {"/srv/tree", "/"}},
      {"tree", {"tree", "/"}},
      {".", {".", "/"}},
      {"/", {"/", "/"}},
      {"/srv/tree:/", {"/srv/tree", "/"}},
      {"/srv/tree:/mnt", {"/srv/tree", "/mnt"}},
      {"/srv/tree:/mnt/a/b", {"/srv/tree", "/mnt/a/b"}},
      {"/srv/tree://mnt///a//", {"/srv/tree", "/mnt/a"}},
      {"tree:/mnt", {"tree", "/mnt"}},
      // Colons that no slash follows are the directory's.
      {"/srv/tree:1", {"/srv/tree:1", "/"}},
      {"/srv/tree:", {"/srv/tree:", "/"}},
      {"/srv/tree:1:/mnt", {"/srv/tree:1", "/mnt"}},
      {"/srv/tree::/mnt", {"/srv/tree:", "/mnt"}},
      // The last ":/" counts.
      {"/srv/a:/b:/", {"/srv/a:/b", "/"}},
      {"/srv/a:/b:/mnt", {"/srv/a:/b", "/mnt"}},
      // Names that only look special.
      {"/srv/tree:/...", {"/srv/tree", "/..."}},
      {"/srv/tree:/.a", {"/srv/tree", "/.a"}},
      {"/srv/\xff:/\xfe", {"/srv/\xff", "/\xfe"}},
  };
  for (const auto& test : kCases) {
    const auto spec = ParseImportSpec(test.text);
    ASSERT_TRUE(spec.has_value()) << test.text << ": " << spec.error();
    EXPECT_EQ(spec->directory, test.expected.directory) << test.text;
    EXPECT_EQ(spec->mountpoint, test.expected.mountpoint) << test.text;
  }
}

TEST(ImportSpec, SaysWhatIsWrong) {
  const struct {
    std::string text;
    const char* message;
  } kCases[] = {
      {"", "names no directory"},
      {":/mnt", "names no directory"},
      {"/srv/tree:/a/../b", "must not contain \"..\""},
      {"/srv/tree:/..", "must not contain \"..\""},
      {"/srv/tree:/a/./b", "must not contain \".\""},
      {"/srv/tree:/" + std::string(256, 'n'), "longer than 255 bytes"},
      {std::string("/srv\0/tree", 10), "NUL"},
      {"/srv/tree:" +
           [] {
             std::string path;
             for (int i = 0; i < 21; ++i) path += "/" + std::string(200, 'n');
             return path;
           }(),
       "longer than 4095 bytes"},
  };
  for (const auto& test : kCases) {
    const auto spec = ParseImportSpec(test.text);
    ASSERT_FALSE(spec.has_value()) << test.text;
    EXPECT_THAT(spec.error(), HasSubstr(test.message));
  }
}

}  // namespace
}  // namespace vfsd::storage
