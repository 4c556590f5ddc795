// RecentAnswers: a session's last answers to requests that carried a request
// id, so that a retry gets the first answer instead of a second change.
//
// A retry that arrives while the first try still runs waits for its answer.
// Thread safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "server/base/errno.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

class RecentAnswers {
 public:
  // How many are remembered, the oldest forgotten first.
  static constexpr size_t kCapacity = 1024;

  struct Answer {
    OperationKind kind;
    Errno error;
    Handle handle;  // of an Open that succeeded
  };

  // The answer to an earlier request with this id; or nothing, and then the
  // caller must run it and call Remember.
  std::optional<Answer> Begin(uint64_t request_id);
  // REQUIRES: Begin with this id returned nothing.
  void Remember(uint64_t request_id, const Answer& answer);

 private:
  // No value: its first try is under way. Shared with the retries that wait for
  // it, so that they get it even if it is forgotten before they wake up.
  using Entry = std::shared_ptr<std::optional<Answer>>;

  absl::Mutex mu_;
  absl::flat_hash_map<uint64_t, Entry> answers_ ABSL_GUARDED_BY(mu_);
  std::deque<uint64_t> order_ ABSL_GUARDED_BY(mu_);
};

}  // namespace vfsd::vfs
