#include "client/load/metronome.h"

#include <sys/prctl.h>

#include <algorithm>

namespace vfsload {
namespace {

// A sleeping thread looks so often whether it is still wanted.
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

Metronome::Metronome(grpc::CompletionQueue& queue)
    : queue_(queue), thread_([this] { Beat(); }) {}

Metronome::~Metronome() {
  {
    absl::MutexLock lock(&mutex_);
    state_ = State::kStopped;
  }
  thread_.join();
}

void Metronome::Arm(Time when) {
  absl::MutexLock lock(&mutex_);
  if (state_ != State::kIdle) return;
  state_ = State::kArmed;
  when_ = when;
}

void Metronome::OnCompletion(bool /*ok*/) {
  absl::MutexLock lock(&mutex_);
  if (state_ == State::kRinging) state_ = State::kIdle;
}

void Metronome::Beat() {
  // Timers of a thread may be late by its slack, 50 us unless it says less.
  prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  const auto wanted = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return state_ == State::kArmed || state_ == State::kStopped;
  };
  while (true) {
    Time when;
    {
      absl::MutexLock lock(&mutex_, absl::Condition(&wanted));
      if (state_ == State::kStopped) return;
      when = when_;
    }
    const Time now = std::chrono::steady_clock::now();
    if (when > now) {
      std::this_thread::sleep_until(std::min(when, now + kLook));
      continue;
    }
    absl::MutexLock lock(&mutex_);
    if (state_ == State::kStopped) return;
    state_ = State::kRinging;
    alarm_.Set(&queue_, std::chrono::system_clock::now(),
               static_cast<CompletionTag*>(this));
  }
}

}  // namespace vfsload
