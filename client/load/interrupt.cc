#include "client/load/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace vfsload {
namespace {

constexpr std::chrono::milliseconds kLook{20};

std::atomic<bool> g_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

void OnSignal(int signal) {
  if (g_interrupted.exchange(true)) _exit(128 + signal);
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

bool Interrupted() { return g_interrupted.load(std::memory_order_relaxed); }

void SleepUntil(std::chrono::steady_clock::time_point when) {
  while (!Interrupted()) {
    const auto left = when - std::chrono::steady_clock::now();
    if (left <= left.zero()) return;
    std::this_thread::sleep_for(
        std::min<std::chrono::steady_clock::duration>(left, kLook));
  }
}

}  // namespace vfsload
