#include "server/main/termination.h"

#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace vfsd {
namespace {

sigset_t Signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

int WaitForSignal() {
  const sigset_t signals = Signals();
  int number = 0;
  while (sigwait(&signals, &number) != 0) {
  }
  return number;
}

// What a shell expects of a process that a signal ended.
[[noreturn]] void EndBy(int number) { _exit(128 + number); }

}  // namespace

struct Termination::State {
  std::atomic<bool> serving = false;
  std::atomic<int> number = 0;  // the first signal since then
};

Termination::Termination() : state_(std::make_shared<State>()) {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  std::thread([state = state_] {
    const int first = WaitForSignal();
    if (!state->serving) {
      spdlog::error("{}: ended before serving", strsignal(first));
      EndBy(first);
    }
    state->number = first;
    state->number.notify_all();
    EndBy(WaitForSignal());
  }).detach();
}

void Termination::Serve() { state_->serving = true; }

void Termination::Wait() {
  state_->number.wait(0);
  spdlog::info("{}: draining; a second signal ends at once",
               strsignal(state_->number));
}

}  // namespace vfsd
