// Vfs: the parts of a virtual file system that belong together, and their
// configuration. It only holds them; each has its own file and its own state.
//
// The walk's invariant: THE LOCK-FREE WALK MAY ONLY DECIDE WHAT THE LOCKED WALK
// COULD HAVE DECIDED. Where it cannot tell, it leaves (a private outcome that
// no caller sees) and the locked walk answers.
//
// Lock order, outermost first:
//   1. Vfs::rename_mutex: directory moves (the kernel's s_vfs_rename_mutex)
//   2. Directory::mu: an ancestor before its descendant; of two that are not
//      related the lower address first
//   3. MountTable::mu_ (waits for grace periods)
//   4. FileTable::mu_ (spinning), SessionTable::mu_, RecentAnswers::mu_: no
//      other lock of the list is taken inside one of them
//   5. Inode::walk_lock (spinning); of two the lower address first. A rename
//      takes a shard's lock in it, and may allocate
//   6. DentryTable's shard locks (each file system has a table of its own)
//   7. Inode::attribute_lock (spinning; held for a few instructions)
// In an RCU read section none of 1 to 6 is taken. What server/sync locks for
// itself is inside all of them: each thread's batch of retired objects has a
// spin lock (rcu.cc).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "server/vfs/fast_paths.h"
#include "server/vfs/file.h"
#include "server/vfs/mount.h"

namespace vfsd::vfs {

struct VfsOptions {
  FastPathSet fast_paths = FastPathSet::All();
  // nr_files' limit.
  int64_t max_files = 1'000'000;
  // Handles a session may hold.
  uint32_t max_handles_per_session = 65536;
  // 1 to 255: changes with every start.
  uint8_t boot_epoch = 1;
  // True: every walk is a locked one (tests compare the two).
  bool locked_walk_only = false;
  // fs.protected_symlinks, _hardlinks, _fifos, _regular.
  uint32_t protected_symlinks = 0;
  uint32_t protected_hardlinks = 0;
  uint32_t protected_fifos = 0;
  uint32_t protected_regular = 0;
  // Not owned; null for none.
  SecurityHooks* hooks = nullptr;
};

class Vfs {
 public:
  // top: what is mounted at "/".
  Vfs(const VfsOptions& options, std::shared_ptr<FileSystem> top,
      MountOptions top_options = {});
  ~Vfs();
  Vfs(const Vfs&) = delete;
  Vfs& operator=(const Vfs&) = delete;

  const VfsOptions& options() const { return options_; }
  Mount& top() const { return *top_; }
  // The root of the namespace: the topmost mount at "/".
  PinnedPath Root();

  FastPaths fast_paths;
  FileAccounting files;
  MountTable mounts;
  absl::Mutex rename_mutex;
  // Odd while a directory is being moved, and another number after each move:
  // what a confined walk checks after each ".." (the kernel's rename_lock).
  // Written with rename_mutex held.
  std::atomic<uint64_t> directory_moves{0};

  // Walks that the lock-free walk answered, and that it left to the locked one.
  ShardedCounter fast_walks;
  ShardedCounter locked_walks;

 private:
  const VfsOptions options_;
  Mount* top_;
};

}  // namespace vfsd::vfs
