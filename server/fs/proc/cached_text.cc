#include "server/fs/proc/cached_text.h"

#include <memory>

namespace vfsd::proc {

SharedText CachedText::Get() {
  absl::MutexLock lock(&mu_);
  const Clock::time_point now = Clock::now();
  if (text_ == nullptr || now - made_at_ >= max_age_) {
    text_ = std::make_shared<const std::string>(make_());
    made_at_ = now;
  }
  return text_;
}

}  // namespace vfsd::proc
