// The errno table against the host's own: values, names and texts.

#include "server/base/errno.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>

namespace vfsd {
namespace {

// Every row of the table with the host's value of the same name.
struct Row {
  Errno error;
  int host_value;
  std::string_view name;
};
constexpr Row kRows[] = {
#define VFSD_TEST_ROW(name, value, text) {Errno::k##name, name, #name},
    VFSD_ERRNO_TABLE(VFSD_TEST_ROW)
#undef VFSD_TEST_ROW
};

TEST(ErrnoTest, ValuesAreTheHosts) {
  for (const Row& row : kRows)
    EXPECT_EQ(static_cast<int>(row.error), row.host_value) << row.name;
}

TEST(ErrnoTest, NamesAndTextsAreTheHosts) {
  for (const Row& row : kRows) {
    EXPECT_EQ(ErrnoName(row.error), row.name);
    EXPECT_EQ(ErrnoName(row.error), strerrorname_np(row.host_value));
    EXPECT_EQ(ErrnoText(row.error), strerrordesc_np(row.host_value));
  }
}

TEST(ErrnoTest, ValuesAreDistinctAndBelowTheLimit) {
  std::set<int> values;
  for (const Row& row : kRows) {
    EXPECT_TRUE(values.insert(row.host_value).second) << row.name;
    EXPECT_GT(row.host_value, 0) << row.name;
    EXPECT_LT(row.host_value, kErrnoLimit) << row.name;
  }
}

TEST(ErrnoTest, SuccessAndTheUnknownHaveNames) {
  EXPECT_EQ(ErrnoName(Errno::kOk), "OK");
  EXPECT_EQ(ErrnoText(Errno::kOk), "Success");
  EXPECT_EQ(ErrnoName(static_cast<Errno>(kErrnoLimit)), "EUNKNOWN");
  EXPECT_EQ(ErrnoText(static_cast<Errno>(kErrnoLimit)), "Unknown error");
}

}  // namespace
}  // namespace vfsd
