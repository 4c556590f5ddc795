// The sharded counter: exact when quiet, on more threads than shards, and
// never far off while it counts.

#include "server/base/sharded_counter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <set>
#include <thread>
#include <vector>

namespace vfsd {
namespace {

TEST(ShardedCounterTest, StartsAtZeroAndTakesBothSigns) {
  ShardedCounter counter;
  EXPECT_EQ(counter.Sum(), 0);
  counter.Add(5);
  counter.Add(-7);
  EXPECT_EQ(counter.Sum(), -2);
}

TEST(ShardedCounterTest, AThreadKeepsItsShard) {
  const size_t shard = CounterShard();
  EXPECT_LT(shard, kCounterShards);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(CounterShard(), shard);
}

TEST(ShardedCounterTest, ThreadsThatLiveTogetherHaveShardsOfTheirOwn) {
  CounterShard();  // this thread's, if it has none yet
  // Others of the process may have some: ask for half of them.
  constexpr size_t kThreads = kCounterShards / 2;
  std::vector<size_t> shards(kThreads);
  std::barrier all_have_one(kThreads);
  std::vector<std::thread> threads;
  for (size_t& shard : shards) {
    threads.emplace_back([&shard, &all_have_one] {
      shard = CounterShard();
      all_have_one.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  shards.push_back(CounterShard());
  EXPECT_EQ(std::set<size_t>(shards.begin(), shards.end()).size(),
            shards.size());
}

TEST(ShardedCounterTest, AThreadThatEndsGivesItsShardToTheNext) {
  size_t first = 0;
  size_t second = 0;
  std::thread([&first] { first = CounterShard(); }).join();
  std::thread([&second] { second = CounterShard(); }).join();
  EXPECT_EQ(first, second);
}

TEST(ShardedCounterTest, IsExactAfterMoreThreadsThanShards) {
  ShardedCounter counter;
  constexpr int kThreads = 2 * kCounterShards + 3;
  constexpr int kRounds = 1000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&counter] {
      for (int i = 0; i < kRounds; ++i) {
        counter.Add(3);
        counter.Add(-2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.Sum(), int64_t{kThreads} * kRounds);
}

TEST(ShardedCounterTest, WhatOneThreadAddsAnotherTakesAway) {
  ShardedCounter counter;
  counter.Add(10);
  std::thread([&counter] { counter.Add(-10); }).join();
  EXPECT_EQ(counter.Sum(), 0);
}

TEST(ShardedCounterTest, SumLiesBetweenBeforeAndAfter) {
  // Only additions, by one thread: a sum read meanwhile never falls and never
  // exceeds what has been added by its end.
  ShardedCounter counter;
  constexpr int64_t kTotal = 200'000;
  std::atomic<int64_t> begun{0};
  std::thread adder([&] {
    for (int64_t i = 1; i <= kTotal; ++i) {
      begun.store(i, std::memory_order_seq_cst);
      counter.Add(1);
    }
  });
  int64_t last = 0;
  while (last < kTotal) {
    const int64_t sum = counter.Sum();
    ASSERT_GE(sum, last);
    ASSERT_LE(sum, begun.load(std::memory_order_seq_cst));
    last = sum;
    std::this_thread::yield();
  }
  adder.join();
}

}  // namespace
}  // namespace vfsd
