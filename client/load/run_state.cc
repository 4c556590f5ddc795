#include "client/load/run_state.h"

#include <algorithm>

namespace vfsload {

void RunState::Fail(const vfsclient::Error& error) {
  {
    absl::MutexLock lock(&mutex_);
    if (!failure_) failure_ = error;
  }
  Stop();
}

std::optional<vfsclient::Error> RunState::failure() const {
  absl::MutexLock lock(&mutex_);
  return failure_;
}

void RunState::Complain(const std::string& complaint) {
  absl::MutexLock lock(&mutex_);
  if (complaints_.size() < kKeptComplaints &&
      std::ranges::find(complaints_, complaint) == complaints_.end()) {
    complaints_.push_back(complaint);
  }
}

std::vector<std::string> RunState::complaints() const {
  absl::MutexLock lock(&mutex_);
  return complaints_;
}

}  // namespace vfsload
