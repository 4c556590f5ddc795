// CachedText: content that a function makes, kept for an interval, however many
// clients ask: reading the host's /proc/meminfo or summing the server's
// counters takes tens of microseconds, and a batch of a few thousand reads
// would take a queue's thread for as long as all of them.
//
// Thread safe: who comes while it is made waits for the new content.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/fs/proc/sequence_file.h"

namespace vfsd::proc {

class CachedText {
 public:
  // make: called with the lock held, so never twice at once.
  CachedText(absl::Duration max_age, std::function<std::string()> make)
      : max_age_(absl::ToChronoNanoseconds(max_age)), make_(std::move(make)) {}

  // Never null; less than max_age old, and made anew each time if that is 0.
  SharedText Get();

 private:
  using Clock = std::chrono::steady_clock;

  const std::chrono::nanoseconds max_age_;
  const std::function<std::string()> make_;
  absl::Mutex mu_;
  SharedText text_ ABSL_GUARDED_BY(mu_);
  Clock::time_point made_at_ ABSL_GUARDED_BY(mu_);
};

}  // namespace vfsd::proc
