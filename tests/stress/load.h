// Load on many threads for a bounded time, with choices that a printed seed
// repeats (the threads' timing is not repeated).
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace vfsd::stress {

using Random = std::mt19937_64;

// How long a test puts load on: VFSD_STRESS_SECONDS, or 10.
inline std::chrono::milliseconds LoadTime() {
  const char* const seconds = std::getenv("VFSD_STRESS_SECONDS");
  const double value = seconds == nullptr ? 10.0 : std::atof(seconds);
  return std::chrono::milliseconds(static_cast<int64_t>(value * 1000));
}

// The process's seed: VFSD_STRESS_SEED, or a random one; printed once.
inline uint64_t Seed() {
  static const uint64_t seed = [] {
    const char* const given = std::getenv("VFSD_STRESS_SEED");
    const uint64_t value =
        given == nullptr ? std::random_device{}() : std::stoull(given);
    std::cout << "seed: VFSD_STRESS_SEED=" << value << std::endl;
    return value;
  }();
  return seed;
}

// Threads that each run a round again and again until the time is up or
// something has failed.
class Load {
 public:
  // `share`: the part of LoadTime that this load gets.
  explicit Load(double share = 1.0)
      : deadline_(std::chrono::steady_clock::now() +
                  std::chrono::duration_cast<std::chrono::milliseconds>(
                      LoadTime() * share)) {
    Seed();
  }
  ~Load() { Wait(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void Add(std::function<void(Random&)> round) {
    const uint64_t seed = Seed() + 0x9E3779B97F4A7C15U * (threads_.size() + 1);
    threads_.emplace_back([this, seed, round = std::move(round)] {
      Random random(seed);
      uint64_t rounds = 0;
      while (!stop_.load(std::memory_order_relaxed)) {
        round(random);
        if (++rounds % 16 == 0) CheckEnd();
      }
      rounds_.fetch_add(rounds, std::memory_order_relaxed);
    });
  }

  void Wait() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  void CheckEnd() {
    if (std::chrono::steady_clock::now() >= deadline_ ||
        testing::Test::HasFailure()) {
      stop_.store(true, std::memory_order_relaxed);
    }
  }

  const std::chrono::steady_clock::time_point deadline_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> rounds_{0};
  std::vector<std::thread> threads_;
};

// So that a run shows that it did something, and how much.
inline void Report(const Load& load, const std::string& what = "rounds") {
  std::cout << load.rounds() << " " << what << std::endl;
  EXPECT_GT(load.rounds(), 0U);
}

}  // namespace vfsd::stress
