// The word-wise functions against what they mean, for every length and place
// that their cases distinguish.

#include "server/vfs/name_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace vfsd::vfs {
namespace {

// Bytes around '/' are what a borrow or a carry would mistake for it.
constexpr char kFillers[] = {'a', '.', '0', '\x01', '\x7f', '\xff', '\xaf'};

// In memory of exactly its size, so that a sanitizer sees a byte too many.
template <typename Check>
void ForAllPaths(Check&& check) {
  for (const char filler : kFillers) {
    for (size_t size = 0; size <= 40; ++size) {
      const std::vector<char> none(size, filler);
      check(std::string_view(none.data(), size));
      for (size_t i = 0; i < size; ++i) {
        for (size_t j = i; j < size; ++j) {
          std::vector<char> path = none;
          path.shrink_to_fit();
          path[i] = path[j] = '/';
          check(std::string_view(path.data(), size));
        }
      }
    }
  }
}

TEST(NameBytesTest, AComponentEndsAtTheFirstSlash) {
  ForAllPaths([](std::string_view path) {
    ASSERT_EQ(ComponentLength(path), std::min(path.find('/'), path.size()))
        << path;
  });
}

TEST(NameBytesTest, ADirectoryEndsBeforeTheLastSlash) {
  ForAllPaths([](std::string_view path) {
    const size_t slash = path.rfind('/');
    ASSERT_EQ(DirectoryLength(path),
              slash == std::string_view::npos ? 0 : slash)
        << path;
  });
}

TEST(NameBytesTest, TheSameBytesAreTheSameAndOneOtherIsSeen) {
  for (size_t size = 1; size <= 64; ++size) {
    const std::string a(size, 'n');
    ASSERT_TRUE(SameBytes(a.data(), std::string(a).data(), size));
    for (size_t i = 0; i < size; ++i) {
      std::string b = a;
      b[i] = 'm';
      ASSERT_FALSE(SameBytes(a.data(), b.data(), size)) << size << ' ' << i;
    }
  }
}

}  // namespace
}  // namespace vfsd::vfs
