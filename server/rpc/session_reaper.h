// SessionReaper: a thread that ends the sessions whose lease has lapsed.
#pragma once

#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/vfs/session_table.h"

namespace vfsd::rpc {

class SessionReaper {
 public:
  // Looks every `interval`.
  SessionReaper(vfs::SessionTable& sessions, absl::Duration interval);
  ~SessionReaper();
  SessionReaper(const SessionReaper&) = delete;
  SessionReaper& operator=(const SessionReaper&) = delete;

 private:
  void Run(absl::Duration interval);

  vfs::SessionTable& sessions_;
  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;
};

}  // namespace vfsd::rpc
