#include "server/main/termination.h"

#include <pthread.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

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

}  // namespace

Termination::Termination() {
  const sigset_t signals = Signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
}

void Termination::Wait() {
  const int number = WaitForSignal();
  spdlog::info("{}: draining; a second signal ends at once", strsignal(number));
  std::thread([] {
    const int second = WaitForSignal();
    // What a shell expects of a process that a signal ended.
    _exit(128 + second);
  }).detach();
}

}  // namespace vfsd
