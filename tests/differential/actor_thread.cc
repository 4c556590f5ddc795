#include "tests/differential/actor_thread.h"

namespace vfsd::differential {

ActorThread::ActorThread() : thread_([this] { Loop(); }) {}

ActorThread::~ActorThread() {
  {
    const std::lock_guard lock(mu_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ActorThread::Run(const std::function<void()>& what) {
  if (std::this_thread::get_id() == thread_.get_id()) return what();
  std::unique_lock lock(mu_);
  what_ = &what;
  changed_.notify_all();
  changed_.wait(lock, [this] { return what_ == nullptr; });
}

void ActorThread::Loop() {
  std::unique_lock lock(mu_);
  for (;;) {
    changed_.wait(lock, [this] { return what_ != nullptr || ends_; });
    if (what_ == nullptr) return;
    (*what_)();
    what_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace vfsd::differential
