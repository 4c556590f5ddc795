#include "client/lib/path.h"

#include <gtest/gtest.h>

#include <string>

#include "client/lib/batch.h"

namespace vfsclient {
namespace {

TEST(Path, Utf8) {
  for (const char* text : {"", "a", "/usr/include", "\xc3\xa4", "\xe2\x82\xac",
                           "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_TRUE(IsUtf8(std::string_view("a\0b", 3)));
  for (const char* bytes :
       {"\x80", "\xff", "\xc3", "\xc0\xaf", "\xc1\x81", "\xe0\x80\xaf",
        "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "a\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(bytes));
  }
}

TEST(Path, TextBytesOrAbsent) {
  vfs::v1::OpenRequest request;
  SetPath("/a", &request);
  EXPECT_TRUE(request.has_path());
  SetPath("/a\xff", &request);
  EXPECT_FALSE(request.has_path());
  EXPECT_EQ(request.raw_path(), "/a\xff");
  SetPath("", &request);
  EXPECT_TRUE(request.has_path());
  SetPath(std::nullopt, &request);
  EXPECT_EQ(request.path_kind_case(), vfs::v1::OpenRequest::PATH_KIND_NOT_SET);
}

TEST(Path, Join) {
  EXPECT_EQ(JoinPath("/", "a"), "/a");
  EXPECT_EQ(JoinPath("/a", "b"), "/a/b");
}

TEST(Batch, ChainsByIndex) {
  Batch batch;
  const OperationIndex first = batch.Open("/a", 0);
  const OperationIndex second = batch.Open("/b", 0);
  batch.Stat(second);
  batch.Close(first);
  batch.Close(Handle{77});
  ASSERT_EQ(batch.size(), 5u);
  const auto& operations = batch.request().operations();
  EXPECT_EQ(operations[2].stat().dir_operation(), 1u);
  EXPECT_EQ(operations[2].stat().flags(),
            static_cast<uint32_t>(vfs::v1::AT_FLAG_AT_EMPTY_PATH));
  EXPECT_TRUE(operations[2].stat().has_path());
  EXPECT_EQ(operations[3].close().handle_operation(), 0u);
  EXPECT_EQ(operations[4].close().handle(), 77u);
  batch.Clear();
  EXPECT_EQ(batch.size(), 0u);
}

}  // namespace
}  // namespace vfsclient
