// SpreadingCount: whatever mode it is in, exactly one holder ends the object,
// after all references are gone.
#include "server/sync/spreading_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "server/sync/rcu.h"

namespace vfsd::sync {
namespace {

// What is counted; ends as an inode does.
struct Object {
  SpreadingCount count{1};
  std::atomic<int>& ended;

  explicit Object(std::atomic<int>& on_end) : ended(on_end) {}
  void Put() {
    if (count.Put()) End(this);
  }
  void PutBase() {
    if (count.PutBase(this, &End)) End(this);
  }
  static void End(void* object) {
    ++static_cast<Object*>(object)->ended;
    RcuDelete(static_cast<Object*>(object));
  }
};

// Uses `object` on several threads until its count is spread.
void UseUntilSpread(Object& object) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&object] {
      while (!object.count.spread()) {
        object.count.Get();
        object.Put();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SpreadingCountTest, IsAPlainCountAtFirst) {
  std::atomic<int> ended{0};
  auto* const object = new Object(ended);
  object->count.MakeBase();
  object->count.Get();
  EXPECT_EQ(object->count.Read(), 2U);
  EXPECT_FALSE(object->count.spread());
  object->PutBase();
  EXPECT_EQ(object->count.Read(), 1U);
  EXPECT_EQ(ended, 0);
  object->Put();
  EXPECT_EQ(ended, 1);
  {
    const RcuReadSection section;
    // Not freed yet.
    EXPECT_FALSE(object->count.GetUnlessZero());
  }
  RcuBarrier();
}

TEST(SpreadingCountTest, SpreadsUnderContentionAndCountsOn) {
  std::atomic<int> ended{0};
  auto* const object = new Object(ended);
  object->count.MakeBase();
  UseUntilSpread(*object);
  EXPECT_EQ(object->count.Read(), 1U);
  object->count.Get();
  object->count.Get();
  EXPECT_EQ(object->count.Read(), 3U);
  object->PutBase();
  EXPECT_EQ(object->count.Read(), 2U);
  RcuBarrier();
  EXPECT_EQ(object->count.Read(), 2U);
  object->Put();
  EXPECT_EQ(ended, 0);
  object->Put();
  EXPECT_EQ(ended, 1);
  RcuBarrier();
}

// Also when the blocks of those that ended are used again.
TEST(SpreadingCountTest, SpreadCountsAreEachTheirOwn) {
  constexpr uint32_t kObjects = 20;
  for (int round = 0; round < 2; ++round) {
    std::atomic<int> ended{0};
    std::vector<Object*> objects;
    for (uint32_t i = 0; i < kObjects; ++i) {
      objects.push_back(new Object(ended));
      objects[i]->count.MakeBase();
      UseUntilSpread(*objects[i]);
    }
    for (uint32_t i = 0; i < kObjects; ++i)
      for (uint32_t get = 0; get < i; ++get) objects[i]->count.Get();
    for (uint32_t i = 0; i < kObjects; ++i)
      EXPECT_EQ(objects[i]->count.Read(), i + 1);
    for (Object* const object : objects) object->PutBase();
    // Of all but the first somebody holds references still.
    RcuBarrier();
    EXPECT_EQ(ended, 1);
    for (uint32_t i = 0; i < kObjects; ++i)
      for (uint32_t get = 0; get < i; ++get) objects[i]->Put();
    EXPECT_EQ(ended, static_cast<int>(kObjects));
    RcuBarrier();
  }
}

TEST(SpreadingCountTest, TheBaseReferenceMayBeTheLastOfASpreadCount) {
  std::atomic<int> ended{0};
  auto* const object = new Object(ended);
  object->count.MakeBase();
  UseUntilSpread(*object);
  object->PutBase();
  RcuBarrier();
  EXPECT_EQ(ended, 1);
}

TEST(SpreadingCountTest, WithoutABaseReferenceItStaysPlain) {
  std::atomic<int> ended{0};
  auto* const object = new Object(ended);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([object] {
      for (int use = 0; use < 20'000; ++use) {
        object->count.Get();
        object->Put();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(object->count.spread());
  object->Put();
  EXPECT_EQ(ended, 1);
  RcuBarrier();
}

TEST(SpreadingCountTest, OneOfManyEndsItWhileTheBaseGoes) {
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> ended{0};
    std::atomic<bool> stop{false};
    auto* const object = new Object(ended);
    object->count.MakeBase();
    UseUntilSpread(*object);
    std::atomic<Object*> published{object};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        while (!stop) {
          Object* found;
          {
            const RcuReadSection section;
            found = published.load();
            if (found != nullptr && !found->count.GetUnlessZero())
              found = nullptr;
          }
          if (found == nullptr) continue;
          ASSERT_EQ(ended, 0);
          found->Put();
        }
      });
    }
    std::this_thread::yield();
    published.store(nullptr);
    object->PutBase();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    RcuBarrier();
    ASSERT_EQ(ended, 1);
  }
}

}  // namespace
}  // namespace vfsd::sync
