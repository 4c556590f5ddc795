// SessionTable: all sessions of a Vfs, by id; ends those whose lease lapsed.
//
// Thread safety: all members from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/base/result.h"
#include "server/vfs/session.h"

namespace vfsd::vfs {

struct SessionLimits {
  uint32_t max_sessions = 65536;
  absl::Duration default_lease = absl::Seconds(60);
  absl::Duration min_lease = absl::Seconds(1);
  absl::Duration max_lease = absl::Hours(24);
};

// Told of every session's beginning and end, on the thread that caused it (proc
// keeps its directories by it): of a beginning before anyone can find the
// session, so that its end comes later. Not with a lock of the table held.
class SessionObserver {
 public:
  virtual ~SessionObserver() = default;
  virtual void SessionOpened(const SessionRef& session) = 0;
  virtual void SessionClosed(const Session& session) = 0;
};

class SessionTable {
 public:
  using Clock = std::function<LeaseClock::time_point()>;

  // clock: what leases run on; tests give their own.
  SessionTable(Vfs& vfs, SessionLimits limits, Clock clock = &LeaseClock::now);
  // Ends all sessions.
  ~SessionTable();

  // REQUIRES: before the first Open.
  void SetObserver(SessionObserver* observer) { observer_ = observer; }

  // ENFILE: max_sessions are open. EINVAL: a bad client_name, too many groups.
  Result<SessionRef> Open(SessionOptions options);
  // Null if there is none, or its lease has lapsed; else renewed.
  SessionRef Find(uint64_t id);
  // The session's handles are closed, its removed files go. False: there is
  // none. closed_handles may be null.
  bool Close(uint64_t id, uint32_t* closed_handles);
  // Ends the sessions whose lease has lapsed; returns how many.
  size_t Reap();

  // The session that calls without one run in: the anonymous caller's. Null:
  // not allowed.
  SessionRef anonymous() const { return anonymous_; }
  void SetAnonymous(CredentialsRef credentials);

  size_t size() const;
  std::vector<SessionRef> List() const;
  // Open handles of all sessions, without a look at any of them: who asks does
  // not keep sessions from beginning and ending.
  uint64_t open_handles() const;
  const SessionLimits& limits() const { return limits_; }
  uint64_t expired_total() const {
    return static_cast<uint64_t>(expired_.Sum());
  }

 private:
  void End(const SessionRef& session, uint32_t* closed_handles);
  uint64_t RandomBits() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Vfs& vfs_;
  const SessionLimits limits_;
  const Clock clock_;
  SessionObserver* observer_ = nullptr;
  SessionRef anonymous_;
  ShardedCounter expired_;

  mutable absl::Mutex mu_;
  // Null: it is being opened, and nobody may find it yet.
  absl::flat_hash_map<uint64_t, SessionRef> sessions_ ABSL_GUARDED_BY(mu_);
  uint32_t next_number_ ABSL_GUARDED_BY(mu_) = 1;
  std::random_device random_ ABSL_GUARDED_BY(mu_);
};

}  // namespace vfsd::vfs
