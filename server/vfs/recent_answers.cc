#include "server/vfs/recent_answers.h"

namespace vfsd::vfs {

std::optional<RecentAnswers::Answer> RecentAnswers::Begin(uint64_t request_id) {
  absl::MutexLock lock(&mu_);
  const auto [it, first] = answers_.try_emplace(request_id);
  if (first) return std::nullopt;
  const auto answered = [this,
                         request_id]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto entry = answers_.find(request_id);
    return entry == answers_.end() || entry->second.has_value();
  };
  mu_.Await(absl::Condition(&answered));
  const auto entry = answers_.find(request_id);
  // Forgotten while we waited: a thousand others came in between.
  if (entry == answers_.end())
    return Answer{OperationKind::kOpen, Errno::kEAGAIN, 0};
  return entry->second;
}

void RecentAnswers::Remember(uint64_t request_id, const Answer& answer) {
  absl::MutexLock lock(&mu_);
  answers_[request_id] = answer;
  order_.push_back(request_id);
  while (order_.size() > kCapacity) {
    answers_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace vfsd::vfs
