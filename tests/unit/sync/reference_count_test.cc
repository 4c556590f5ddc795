// The reference count: what is dead stays dead, and exactly one holder ends it.

#include "server/sync/reference_count.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace vfsd::sync {
namespace {

TEST(ReferenceCountTest, TheLastPutEndsIt) {
  ReferenceCount count(1);
  count.Get();
  EXPECT_EQ(count.Read(), 2U);
  EXPECT_FALSE(count.Put());
  EXPECT_TRUE(count.Put());
  EXPECT_EQ(count.Read(), 0U);
}

TEST(ReferenceCountTest, NobodyGetsADeadObject) {
  ReferenceCount count(1);
  EXPECT_TRUE(count.GetUnlessZero());
  EXPECT_FALSE(count.Put());
  EXPECT_TRUE(count.Put());
  EXPECT_FALSE(count.GetUnlessZero());
  EXPECT_FALSE(count.GetUnlessZero());
  EXPECT_EQ(count.Read(), 0U);
}

TEST(ReferenceCountTest, TheOnlyHolderKnowsIt) {
  ReferenceCount count(2);
  EXPECT_FALSE(count.IsOnly());
  EXPECT_FALSE(count.Put());
  EXPECT_TRUE(count.IsOnly());
  EXPECT_EQ(count.Read(), 1U);  // unchanged
  EXPECT_TRUE(count.Put());
  EXPECT_FALSE(count.IsOnly());
}

TEST(ReferenceCountTest, ExactlyOneOfManyEndsIt) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5'000;
  for (int round = 0; round < kRounds / 100; ++round) {
    std::array<std::atomic<int>, 100> ended{};
    std::unique_ptr<ReferenceCount> objects[100];
    for (auto& object : objects)
      object = std::make_unique<ReferenceCount>(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          // As a reader does beside the holders: get, use, put.
          if (objects[i]->GetUnlessZero() && objects[i]->Put()) ++ended[i];
          if (objects[i]->Put()) ++ended[i];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(ended[i].load(), 1);
      ASSERT_EQ(objects[i]->Read(), 0U);
    }
  }
}

}  // namespace
}  // namespace vfsd::sync
