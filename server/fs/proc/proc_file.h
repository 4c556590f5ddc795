// ProcFile: a file of the proc file system as open files see it. It stands
// between them and the provider, and makes open, read and close safe against
// the entry's removal (fs/proc/inode.c).
//
// Removable entries. `in_use_` counts who is inside a hook; everybody enters
// through Use and leaves through Unuse. A removal adds a large negative bias,
// from which Use tells that it comes too late, and waits until the last one
// inside has left. It does not wait for open files that are idle: an opener
// record, made at open if the provider has a release hook, lists them, and the
// removal releases each on its closer's behalf. Whoever comes first, close or
// removal, calls the hook; whoever comes second waits until it has returned.
//
// Permanent entries are never removed, so nothing of that is needed: their
// hooks are called at once, without a read-modify-write, a record or a lock.
// With the fast path "permanent" switched off they take the way of removable
// ones. A file that was opened one way and is closed the other stays balanced:
// the way in which it was opened shows in whether it has an opener record.
//
// Which way an entry goes, and what it can do, is decided by `flags_` alone, a
// copy made before the entry was published.
//
// Owned by its inode. Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/base/result.h"
#include "server/base/sharded_counter.h"
#include "server/fs/proc/file_provider.h"
#include "server/vfs/fast_paths.h"
#include "server/vfs/file.h"
#include "server/vfs/synthetic_file.h"

namespace vfsd::proc {

// What protection against removal costs, counted for tests and benchmarks. Not
// counted in production: counting costs as much as what is counted.
struct ProcCounters {
  // Read-modify-writes of in_use_.
  ShardedCounter in_use_changes;
  ShardedCounter openers_allocated;
  ShardedCounter openers_freed;
};

class ProcFile final : public vfs::SyntheticFile {
 public:
  // flags: ProviderFlag bits, as the registration decided. counters: may be
  // null; else it outlives all open files.
  ProcFile(std::unique_ptr<FileProvider> provider, uint8_t flags,
           vfs::FastPaths& fast_paths, ProcCounters* counters);
  ~ProcFile() override;

  bool permanent() const { return HasFlag(kProviderPermanent); }
  bool seekable() const { return HasFlag(kProviderSeeks); }

  // ENOENT once removed.
  Errno Open(vfs::File& file) override;
  // EIO once removed.
  Result<size_t> Read(vfs::File& file, uint64_t offset,
                      std::span<char> buffer) override;
  void Release(vfs::File& file) override;

  // The end of a removable entry: waits for everybody inside a hook, releases
  // what is open, and destroys the provider. Once; with no lock held that a
  // hook takes, and not from a hook of the same entry.
  void RunDown();

 private:
  // An open file that a removal must release. Owned by the open file, as its
  // private data, which therefore outlives its place in the list.
  struct Opener final : vfs::FilePrivateData {
    Opener(vfs::File& of, ProcCounters* with);
    ~Opener() override;
    Opener(const Opener&) = delete;
    Opener& operator=(const Opener&) = delete;

    vfs::File& file;
    ProcCounters* const counters;
    std::unique_ptr<vfs::FilePrivateData> state;  // the provider's
    // Guarded by the entry's mu_.
    bool closing = false;  // somebody is in the release hook
    bool closed = false;   // it has returned, and this is off the list
    Opener* previous = nullptr;
    Opener* next = nullptr;
  };

  static constexpr int32_t kBias = std::numeric_limits<int32_t>::min();

  bool HasFlag(ProviderFlag flag) const { return (flags_ & flag) != 0; }

  // False: the entry is going or gone.
  [[nodiscard]] bool Use();
  void Unuse();

  Errno OpenGuarded(vfs::File& file);
  Result<size_t> CallRead(OpenFile open, uint64_t offset,
                          std::span<char> buffer);
  // The file's record, or null if it was opened without one.
  Opener* OpenerOf(vfs::File& file) const;
  // What the provider's hooks are given for `file`.
  OpenFile View(vfs::File& file) const;

  void Link(Opener& opener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Unlink(Opener& opener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Calls the release hook, for which it lets go of mu_. REQUIRES: not closing.
  void Close(Opener& opener) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Opener* FirstIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool NoOpeners() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return openers_ == nullptr;
  }

  const uint8_t flags_;
  vfs::FastPaths& fast_paths_;
  ProcCounters* const counters_;
  // Null after RunDown. Of a removable entry: used between Use and Unuse, and
  // by Close, both of which RunDown waits for.
  std::unique_ptr<FileProvider> provider_;

  std::atomic<int32_t> in_use_{0};
  // The last user has left, after the bias.
  absl::Notification users_gone_;

  absl::Mutex mu_;
  // The newest first: files that are closed soon are found soon.
  Opener* openers_ ABSL_GUARDED_BY(mu_) = nullptr;
  // Records that exist. Lets a permanent entry's fast path see, without asking
  // the file, that nothing was opened the other way.
  std::atomic<uint32_t> opener_count_{0};
};

}  // namespace vfsd::proc
