// The sequence lock: who reads beside a writer is told so.

#include "server/sync/seqlock.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace vfsd::sync {
namespace {

TEST(SeqLockTest, AQuietReadIsValid) {
  const SeqLock lock;
  const uint32_t begin = lock.ReadBegin();
  EXPECT_EQ(begin % 2, 0U);
  EXPECT_TRUE(lock.ReadValid(begin));
  EXPECT_TRUE(lock.ReadValid(begin));
}

TEST(SeqLockTest, AWriteSectionInBetweenMakesAReadInvalid) {
  SeqLock lock;
  const uint32_t begin = lock.ReadBegin();
  {
    const SeqLockWriter writer(lock);
  }
  EXPECT_FALSE(lock.ReadValid(begin));
  EXPECT_TRUE(lock.ReadValid(lock.ReadBegin()));
}

TEST(SeqLockTest, AReadInsideAWriteSectionIsNeverValid) {
  SeqLock lock;
  const uint32_t before = lock.ReadBegin();
  lock.WriteLock();
  const uint32_t inside = lock.ReadBegin();
  EXPECT_EQ(inside % 2, 1U);
  EXPECT_FALSE(lock.ReadValid(before));
  EXPECT_FALSE(lock.ReadValid(inside));
  lock.WriteUnlock();
  EXPECT_FALSE(lock.ReadValid(inside));
}

TEST(SeqLockTest, ReadBeginEvenWaitsForTheWriter) {
  SeqLock lock;
  lock.WriteLock();
  std::atomic<bool> entered{false};
  uint32_t begin = 1;
  std::thread reader([&] {
    entered.store(true);
    begin = lock.ReadBeginEven();
  });
  while (!entered.load()) std::this_thread::yield();
  lock.WriteUnlock();
  reader.join();
  EXPECT_EQ(begin % 2, 0U);
  EXPECT_TRUE(lock.ReadValid(begin));
}

TEST(SeqLockTest, WritersExcludeEachOther) {
  SeqLock lock;
  int64_t count = 0;  // not atomic: the lock orders it
  constexpr int kThreads = 4;
  constexpr int kRounds = 20'000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kRounds; ++i) {
        const SeqLockWriter writer(lock);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, int64_t{kThreads} * kRounds);
}

TEST(SeqLockTest, AValidReadIsWhole) {
  SeqLock lock;
  std::array<std::atomic<uint64_t>, 8> words{};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (uint64_t t = 0; t < 2; ++t) {
    writers.emplace_back([&, t] {
      for (uint64_t i = t; !stop.load(std::memory_order_relaxed); i += 2) {
        const SeqLockWriter writer(lock);
        for (std::atomic<uint64_t>& word : words)
          word.store(i, std::memory_order_relaxed);
      }
    });
  }
  int valid = 0;
  while (valid < 20'000) {
    const uint32_t begin = lock.ReadBegin();
    std::array<uint64_t, 8> seen;
    for (size_t i = 0; i < seen.size(); ++i)
      seen[i] = words[i].load(std::memory_order_relaxed);
    if (!lock.ReadValid(begin)) {
      std::this_thread::yield();
      continue;
    }
    ++valid;
    for (const uint64_t word : seen) ASSERT_EQ(word, seen[0]);
  }
  stop.store(true);
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace vfsd::sync
