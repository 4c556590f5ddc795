// What opening asks the general heap for: nothing, once a thread has its pool.

#include "gtest/gtest.h"
#include "server/vfs/executor.h"
#include "tests/unit/fs/allocations.h"
#include "tests/unit/fs/world.h"

namespace vfsd::vfs {
namespace {

using vfsd::testing::Allocations;
using vfsd::testing::World;

TEST(OpenAllocationTest, AFailedOpenAllocatesNothing) {
#ifndef VFSD_BLOCKS_STAY_BLOCKS
  GTEST_SKIP() << "with sanitizers every file comes from the heap";
#endif
  World world;
  const Caller caller(*world.session);
  OpenOperation missing;
  missing.path = "/missing";
  const auto fails = [&] {
    const auto handle = world.executor.Execute(caller, missing);
    return !handle.has_value() && handle.error() == Errno::kENOENT;
  };
  ASSERT_TRUE(fails());
  const int64_t before = Allocations();
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(fails());
  EXPECT_EQ(Allocations(), before);
}

TEST(OpenAllocationTest, NorDoesOneThatSucceedsAndItsClose) {
#ifndef VFSD_BLOCKS_STAY_BLOCKS
  GTEST_SKIP() << "with sanitizers every file comes from the heap";
#endif
  World world;
  const Caller caller(*world.session);
  OpenOperation open;
  open.path = "/";
  const auto opens_and_closes = [&] {
    const auto handle = world.executor.Execute(caller, open);
    return handle.has_value() &&
           world.executor.Execute(caller, CloseOperation{*handle}).has_value();
  };
  ASSERT_TRUE(opens_and_closes());
  const int64_t before = Allocations();
  for (int i = 0; i < 1'000; ++i) ASSERT_TRUE(opens_and_closes());
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace vfsd::vfs
