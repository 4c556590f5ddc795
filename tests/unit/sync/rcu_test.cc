// The RCU wrapper: nothing is freed under a reader, everything is freed after
// it, on whatever thread it was retired, and the barrier waits for all of it.

#include "server/sync/rcu.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace vfsd::sync {
namespace {

std::atomic<int> objects_alive{0};

// Retires the next of its kind when it is reclaimed, as a directory retires its
// parent.
struct Chained {
  explicit Chained(Chained* next_in_chain = nullptr) : next(next_in_chain) {
    ++objects_alive;
  }
  ~Chained() {
    --objects_alive;
    if (next != nullptr) RcuDelete(next);
  }
  Chained* next;
};

TEST(RcuTest, SectionsNest) {
  EXPECT_FALSE(InRcuReadSection());
  {
    const RcuReadSection outer;
    EXPECT_TRUE(InRcuReadSection());
    {
      const RcuReadSection inner;
      EXPECT_TRUE(InRcuReadSection());
    }
    EXPECT_TRUE(InRcuReadSection());
  }
  EXPECT_FALSE(InRcuReadSection());
}

TEST(RcuTest, SectionsAreAThreadsOwn) {
  const RcuReadSection section;
  std::thread([] { EXPECT_FALSE(InRcuReadSection()); }).join();
}

TEST(RcuTest, TheBarrierFreesWhatWasRetired) {
  RcuBarrier();
  for (int i = 0; i < 1000; ++i) RcuDelete(new Chained);
  RcuBarrier();
  EXPECT_EQ(objects_alive.load(), 0);
  EXPECT_EQ(RcuRetiredObjects(), 0U);
}

TEST(RcuTest, TheBarrierFreesWhatThreadsThatEndedRetired) {
  for (int t = 0; t < 20; ++t)
    std::thread([] { RcuDelete(new Chained); }).join();
  RcuBarrier();
  EXPECT_EQ(objects_alive.load(), 0);
}

TEST(RcuTest, TheBarrierFreesWhatIdleThreadsHoldInTheirBatches) {
  std::atomic<int> retired{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      RcuDelete(new Chained);
      ++retired;
      while (!stop.load()) std::this_thread::yield();
    });
  }
  while (retired.load() != 4) std::this_thread::yield();
  RcuBarrier();
  EXPECT_EQ(objects_alive.load(), 0);
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

// Also where the barrier comes by while the thread is in the middle of retiring
// something else.
TEST(RcuTest, TheBarrierFreesWhatBusyThreadsRetiredBefore) {
  struct Busy {
    std::atomic<uint64_t> retired{0};
    std::atomic<uint64_t> freed{0};
  };
  struct Counted {
    Busy* busy;
    ~Counted() { busy->freed.fetch_add(1); }
  };
  std::array<Busy, 3> busy;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (Busy& mine : busy) {
    threads.emplace_back([&mine, &stop] {
      while (!stop.load()) {
        RcuDelete(new Counted{&mine});
        mine.retired.fetch_add(1);
        // Bounded: what waits for its grace period is memory.
        while (mine.retired.load() - mine.freed.load() > 10'000 && !stop.load())
          std::this_thread::yield();
      }
    });
  }
  for (int round = 0; round < 300; ++round) {
    std::array<uint64_t, 3> before;
    for (size_t i = 0; i < busy.size(); ++i) before[i] = busy[i].retired.load();
    RcuBarrier();
    // One thread frees, in the order of retiring.
    for (size_t i = 0; i < busy.size(); ++i)
      EXPECT_GE(busy[i].freed.load(), before[i]);
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  RcuBarrier();
  for (const Busy& mine : busy)
    EXPECT_EQ(mine.freed.load(), mine.retired.load());
}

TEST(RcuTest, TheBarrierWaitsForAWholeChainOfReclaims) {
  // Long, so that the wrapper's own flusher comes by in the middle.
  constexpr int kLength = 200;
  Chained* head = nullptr;
  for (int i = 0; i < kLength; ++i) head = new Chained(head);
  RcuDelete(head);
  RcuBarrier();
  EXPECT_EQ(objects_alive.load(), 0);
}

TEST(RcuTest, AReaderKeepsWhatItMaySee) {
  auto* const object = new Chained;
  std::atomic<Chained*> published{object};
  std::atomic<bool> reading{false};
  std::atomic<bool> leave{false};
  std::thread reader([&] {
    const RcuReadSection section;
    Chained* const seen = published.load();
    reading.store(true);
    while (!leave.load()) std::this_thread::yield();
    EXPECT_GE(objects_alive.load(), 1);
    EXPECT_EQ(seen->next, nullptr);  // a sanitizer would object
  });
  while (!reading.load()) std::this_thread::yield();
  published.store(nullptr);
  RcuDelete(object);
  // Other grace periods come and go meanwhile for those who do not wait for
  // this reader; the object stays.
  for (int i = 0; i < 300; ++i) RcuDelete(new Chained);
  EXPECT_GE(objects_alive.load(), 1);
  leave.store(true);
  reader.join();
  RcuBarrier();
  EXPECT_EQ(objects_alive.load(), 0);
}

TEST(RcuTest, SynchronizeWaitsForTheSectionsThatHadBegun) {
  std::atomic<int> stage{0};
  std::thread reader([&] {
    const RcuReadSection section;
    stage.store(1);
    while (stage.load() == 1) std::this_thread::yield();
    stage.store(3);
  });
  while (stage.load() != 1) std::this_thread::yield();
  std::thread waiter([&] {
    RcuSynchronize();
    EXPECT_EQ(stage.load(), 3);
  });
  stage.store(2);
  waiter.join();
  reader.join();
}

TEST(RcuTest, RetiringDoesNotWaitInAReadSection) {
  {
    const RcuReadSection section;
    for (int i = 0; i < 1000; ++i) RcuDelete(new Chained);
  }
  RcuBarrier();
  EXPECT_EQ(objects_alive.load(), 0);
}

}  // namespace
}  // namespace vfsd::sync
