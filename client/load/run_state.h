// What the threads of a phase tell each other: stop, give up, what went wrong.
//
// Shared by the coordinator and the workers of one phase; thread-safe. Once
// set, a flag stays set.
#ifndef CLIENT_LOAD_RUN_STATE_H_
#define CLIENT_LOAD_RUN_STATE_H_

#include <absl/base/thread_annotations.h>
#include <absl/synchronization/mutex.h>

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "client/lib/error.h"

namespace vfsload {

class RunState {
 public:
  // No unit starts any more; those under way are finished.
  const std::atomic<bool>& stop() const { return stop_; }
  void Stop() { stop_.store(true, std::memory_order_relaxed); }

  // Calls under way are cancelled: the server does not answer.
  bool abandoned() const { return abandon_.load(std::memory_order_relaxed); }
  void Abandon() {
    abandon_.store(true, std::memory_order_relaxed);
    Stop();
  }

  // A call failed without an answer of the file system. Stops the phase; the
  // first one is kept.
  void Fail(const vfsclient::Error& error);
  std::optional<vfsclient::Error> failure() const;

  // A wrong answer; the first few are kept for people.
  void Complain(const std::string& complaint);
  std::vector<std::string> complaints() const;

 private:
  static constexpr size_t kKeptComplaints = 5;

  std::atomic<bool> stop_{false};
  std::atomic<bool> abandon_{false};
  mutable absl::Mutex mutex_;
  std::optional<vfsclient::Error> failure_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> complaints_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_RUN_STATE_H_
