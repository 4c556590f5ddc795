#include "server/rpc/session_reaper.h"

namespace vfsd::rpc {

SessionReaper::SessionReaper(vfs::SessionTable& sessions,
                             absl::Duration interval)
    : sessions_(sessions), thread_([this, interval] { Run(interval); }) {}

SessionReaper::~SessionReaper() {
  {
    const absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  thread_.join();
}

void SessionReaper::Run(absl::Duration interval) {
  absl::MutexLock lock(&mu_);
  while (!mu_.AwaitWithTimeout(absl::Condition(&stopping_), interval)) {
    mu_.Unlock();
    sessions_.Reap();
    mu_.Lock();
  }
}

}  // namespace vfsd::rpc
