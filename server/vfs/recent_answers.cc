#include "server/vfs/recent_answers.h"

namespace vfsd::vfs {

std::optional<RecentAnswers::Answer> RecentAnswers::Begin(uint64_t request_id) {
  absl::MutexLock lock(&mu_);
  const auto [it, first] = answers_.try_emplace(request_id);
  if (first) {
    it->second = std::make_shared<std::optional<Answer>>();
    return std::nullopt;
  }
  const Entry entry = it->second;
  const auto answered = [&entry] { return entry->has_value(); };
  mu_.Await(absl::Condition(&answered));
  return *entry;
}

void RecentAnswers::Remember(uint64_t request_id, const Answer& answer) {
  absl::MutexLock lock(&mu_);
  *answers_[request_id] = answer;
  order_.push_back(request_id);
  while (order_.size() > kCapacity) {
    answers_.erase(order_.front());
    order_.pop_front();
  }
}

}  // namespace vfsd::vfs
