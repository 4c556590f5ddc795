// Backend: what the service stands on: the core's parts, the policy and the
// limits. It only joins them.
//
// Owned by the program, outlives the server. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "server/rpc/credentials_policy.h"
#include "server/rpc/failure.h"
#include "server/vfs/executor.h"
#include "server/vfs/session_table.h"
#include "server/vfs/vfs.h"

namespace vfsd::rpc {

// The lengths within responses have four bytes.
inline constexpr uint32_t kLargestMaxMessageBytes = 128 * 1024 * 1024;

struct ServiceLimits {
  uint32_t max_batch_operations = 10'000;
  // Of one request, 4096 to kLargestMaxMessageBytes; also what a response to
  // operations is kept within, but for a few bytes an operation (errors,
  // handles).
  uint32_t max_message_bytes = 4 * 1024 * 1024;
};

struct Backend {
  vfs::Vfs& vfs;
  vfs::SessionTable& sessions;
  vfs::Executor& executor;
  const CredentialsPolicy& policy;
  const ServiceLimits limits;
  // Told to clients: changes with every start.
  const uint64_t boot_epoch;
  const std::string version;
  // The server is shutting down: no new sessions.
  std::atomic<bool> draining{false};
  // The end of it: no calls at all any more, but health checks.
  std::atomic<bool> refusing{false};

  // The session that a call names, its lease renewed. SESSION_EXPIRED; without
  // one (0) SESSION_REQUIRED, or the anonymous caller's where that is allowed.
  Outcome<vfs::SessionRef> FindSession(uint64_t id,
                                       bool anonymous_allowed) const {
    vfs::SessionRef session = id != 0             ? sessions.Find(id)
                              : anonymous_allowed ? sessions.anonymous()
                                                  : nullptr;
    if (session == nullptr) {
      return std::unexpected(id != 0 ? Reason::kSessionExpired
                                     : Reason::kSessionRequired);
    }
    return session;
  }
};

}  // namespace vfsd::rpc
