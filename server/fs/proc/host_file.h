// HostFile: the content of a file of the host's /proc, read at most once an
// interval, however many clients ask: reading /proc/meminfo costs the host tens
// of microseconds, which would be the whole price of a read here.
//
// Thread safe: who comes while it is read waits for the new content.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/fs/proc/sequence_file.h"

namespace vfsd::proc {

class HostFile {
 public:
  // fallback: what can be told where `path` cannot be read (a container that
  // hides it).
  HostFile(std::string path, absl::Duration max_age,
           std::function<std::string()> fallback)
      : path_(std::move(path)),
        max_age_(max_age),
        fallback_(std::move(fallback)) {}

  // Never null; at most max_age old.
  SharedText Get();

 private:
  const std::string path_;
  const absl::Duration max_age_;
  const std::function<std::string()> fallback_;
  absl::Mutex mu_;
  SharedText text_ ABSL_GUARDED_BY(mu_);
  absl::Time read_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace vfsd::proc
