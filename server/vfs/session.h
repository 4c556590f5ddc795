// Session: what a process is to the kernel: credentials, umask, a root
// directory and a table of open files, plus a lease that keeps it alive.
//
// Owned by the SessionTable and by SessionRefs of the calls under way. Thread
// safe.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "server/vfs/credentials.h"
#include "server/vfs/file_table.h"
#include "server/vfs/path.h"
#include "server/vfs/recent_answers.h"

namespace vfsd::vfs {

class Vfs;

// What OpenSession asks for.
struct SessionOptions {
  CredentialsRef credentials;
  uint32_t umask = 022;
  absl::Duration lease = absl::ZeroDuration();  // 0: the table's default
  bool errors_in_band = false;
  std::string client_name;
};

// What leases run on. Not the wall clock: that one is set, and a step ahead
// would end every session that did not happen to call in between.
using LeaseClock = std::chrono::steady_clock;

class Session {
 public:
  // id: unguessable. number: public, the session's name in /proc. now: the
  // lease begins.
  Session(Vfs& vfs, uint64_t id, uint32_t number, SessionOptions options,
          uint64_t handle_salt, LeaseClock::time_point now);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  uint64_t id() const { return id_; }
  uint32_t number() const { return number_; }
  const CredentialsRef& credentials() const { return credentials_; }
  uint32_t umask() const { return umask_; }
  bool errors_in_band() const { return errors_in_band_; }
  const std::string& client_name() const { return client_name_; }
  absl::Duration lease() const { return lease_; }
  // By the wall clock, for people.
  absl::Time opened() const { return opened_; }

  // Where absolute paths, and relative ones without a directory, start.
  const PathView& root() const { return root_.view(); }
  FileTable& files() { return files_; }
  const FileTable& files() const { return files_; }
  RecentAnswers& recent_answers() { return recent_answers_; }

  // Any call renews the lease.
  void Renew(LeaseClock::time_point now) {
    // relaxed: a moment's difference is nothing to a lease. The check keeps a
    // busy session's cache line clean.
    const int64_t milliseconds = ToMilliseconds(now);
    if (renewed_.load(std::memory_order_relaxed) + 10 < milliseconds) {
      renewed_.store(milliseconds, std::memory_order_relaxed);
    }
  }
  LeaseClock::time_point expiry() const {
    return LeaseClock::time_point(std::chrono::milliseconds(
               renewed_.load(std::memory_order_relaxed))) +
           absl::ToChronoNanoseconds(lease_);
  }

 private:
  static int64_t ToMilliseconds(LeaseClock::time_point time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               time.time_since_epoch())
        .count();
  }
  const uint64_t id_;
  const uint32_t number_;
  const CredentialsRef credentials_;
  const uint32_t umask_;
  const bool errors_in_band_;
  const std::string client_name_;
  const absl::Duration lease_;
  const absl::Time opened_;
  PinnedPath root_;
  FileTable files_;
  RecentAnswers recent_answers_;
  std::atomic<int64_t> renewed_;  // milliseconds of the LeaseClock
};

using SessionRef = std::shared_ptr<Session>;

}  // namespace vfsd::vfs
