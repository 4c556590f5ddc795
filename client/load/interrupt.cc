#include "client/load/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <thread>

namespace vfsload {
namespace {

constexpr std::chrono::milliseconds kLook{20};

// Tools that end a process group deliver the same signal twice at once; that is
// one wish, not two.
constexpr int64_t kOneWish = 500'000'000;

// Nanoseconds of the monotonic clock at the first signal; 0: none yet.
std::atomic<int64_t> g_interrupted{0};
static_assert(std::atomic<int64_t>::is_always_lock_free);

void OnSignal(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);  // async-signal-safe
  const int64_t ns = int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  int64_t first = 0;
  if (!g_interrupted.compare_exchange_strong(first, ns) &&
      ns - first > kOneWish) {
    _exit(128 + signal);
  }
}

}  // namespace

void InstallInterrupt() {
  struct sigaction action{};
  action.sa_handler = OnSignal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool Interrupted() {
  return g_interrupted.load(std::memory_order_relaxed) != 0;
}

void SleepUntil(std::chrono::steady_clock::time_point when) {
  while (!Interrupted()) {
    const auto left = when - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    std::this_thread::sleep_for(
        std::min<std::chrono::steady_clock::duration>(left, kLook));
  }
}

}  // namespace vfsload
