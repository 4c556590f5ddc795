#include "server/vfs/vfs.h"

#include <thread>

#include "absl/synchronization/mutex.h"
#include "server/sync/rcu.h"
#include "server/vfs/file_system_end.h"

namespace vfsd::vfs {

Vfs::Vfs(const VfsOptions& options, std::shared_ptr<FileSystem> top,
         MountOptions top_options)
    : fast_paths(options.fast_paths),
      files(options.max_files, options.hooks),
      options_(options),
      top_(mounts.MountTop(std::move(top), top_options)) {
  // Packaged abseil remembers in which order mutexes were ever taken, and
  // aborts on a cycle. The order of two directories follows from which is above
  // the other, so it turns round when renames turn that round: no deadlock (the
  // rename mutex is held), but the end of the process.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

Vfs::~Vfs() {
  // What was closed or removed last must not outlive the tables it refers to.
  FileAccounting::DrainDeferred();
  sync::RcuBarrier();
  // Detached mounts have ended now; their file systems may take longer.
  WaitForFileSystemEnds();
  sync::RcuBarrier();
}

PinnedPath Vfs::Root() {
  for (;;) {
    {
      const sync::RcuReadSection section;
      PathView root{top_, top_->root()};
      while (root.inode->HasFlag(kInodeMountPoint)) {
        Mount* const child = mounts.FindChild(root.mount, root.inode);
        if (child == nullptr) break;
        root = {child, child->root()};
      }
      PinnedPath path = PinnedPath::TryShare(root);
      if (path) return path;
    }
    // What covers "/" is being unmounted: look again when that is decided.
    std::this_thread::yield();
  }
}

}  // namespace vfsd::vfs
