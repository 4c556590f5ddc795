// Mount: a file system's tree (or a part of it) at a place of another mount.
// MountTable: all mounts of a Vfs.
//
// References. Every PinnedPath counts on its mount, in sharded counters, since
// all cores open files of the same mount. A sum of shards that others change is
// no count (a reference that moves from a shard not yet read to one already
// read is missed), so unmounting marks the mount, which sends all further
// counting to one exact counter, and waits for a grace period: then the shards
// stand still and are added to the exact counter. A lock-free walk that pins
// inside an RCU read section either is in the shards by then or sees the mark
// and leaves its fast walk. (The kernel's percpu_ref in atomic mode.)
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/result.h"
#include "server/base/sharded_counter.h"
#include "server/vfs/file_system.h"
#include "server/vfs/inode.h"

namespace vfsd::vfs {

class MountTable;

struct MountOptions {
  // ro: changes are EROFS.
  bool read_only = false;
  // O_DIRECT is not supported here: an open with it fails late, as on ramfs.
  bool no_direct_io = false;
};

class Mount {
 public:
  Mount(std::shared_ptr<FileSystem> file_system, PinnedInode root,
        Mount* parent, PinnedInode mountpoint, std::string path,
        MountOptions options, uint64_t id);
  ~Mount();
  Mount(const Mount&) = delete;
  Mount& operator=(const Mount&) = delete;

  FileSystem& file_system() const { return *file_system_; }
  // The same, to mount it once more.
  const std::shared_ptr<FileSystem>& shared_file_system() const {
    return file_system_;
  }
  Inode* root() const { return root_.get(); }
  // The mount that it is (or was) mounted on, and the covered inode there; null
  // at the top. Only the inode is kept once the mount is detached.
  Mount* parent() const { return parent_; }
  Inode* mountpoint() const { return mountpoint_.get(); }
  // Where it was mounted, as a path from the top: for people.
  const std::string& path() const { return path_; }
  // STATX_MNT_ID, and STATX_MNT_ID_UNIQUE. Neither is ever used again.
  uint64_t id() const { return id_; }
  uint64_t unique_id() const { return id_ + (uint64_t{1} << 31); }
  bool direct_io() const { return direct_io_; }
  bool read_only() const { return read_only_.load(std::memory_order_seq_cst); }

  // The mount to go up to from the root: none at the top, and none any more
  // once it is detached. In an RCU read section, which keeps what it returns.
  Mount* above() const {
    return state_.load(std::memory_order_acquire) == State::kDetached ? nullptr
                                                                      : parent_;
  }

  // mntget(): the caller holds a reference.
  void Get();
  // In an RCU read section: false while or after it is unmounted.
  [[nodiscard]] bool TryGet();
  // mntput().
  void Put();

  // mnt_want_write(): EROFS on a read-only mount; else DropWrite must follow.
  Errno WantWrite();
  void DropWrite() { counters_.Add(Counter::kWriters, -1); }

  // For checks and tests.
  int64_t references() const {
    return counters_.Sum(Counter::kReferences) +
           exact_references_.load(std::memory_order_relaxed);
  }
  int64_t writers() const { return counters_.Sum(Counter::kWriters); }

 private:
  friend class MountTable;

  // After the grace period: the mount, and its file system if it was the last
  // one's.
  static void End(void* mount);

  // kMounted: references are counted in the shards. kUnmounting: exactly, while
  // Unmount decides (and back to kMounted if it is busy). kDetached: exactly,
  // and whoever drops the last one ends the mount.
  enum class State : uint8_t { kMounted, kUnmounting, kDetached };

  enum class Counter : uint8_t { kReferences, kWriters };

  const std::shared_ptr<FileSystem> file_system_;
  const PinnedInode root_;
  Mount* const parent_;
  // Until it is detached; changed by Unmount alone.
  bool holds_parent_;
  const PinnedInode mountpoint_;
  const std::string path_;
  const uint64_t id_;
  const bool direct_io_;
  std::atomic<bool> read_only_;
  std::atomic<bool> write_hold_{false};
  std::atomic<State> state_{State::kMounted};
  ShardedCounters<Counter, 2> counters_;
  std::atomic<int64_t> exact_references_{0};
};

class MountTable {
 public:
  MountTable() = default;
  ~MountTable();

  // The first mount, which has no parent. Once, before any other call.
  Mount* MountTop(std::shared_ptr<FileSystem> file_system,
                  MountOptions options);
  // Mounts `file_system`, or only what is below `root` of it (a bind mount), on
  // `mountpoint` in `parent`; EBUSY if `parent` is being unmounted, ENOTDIR
  // unless both are directories, ENOENT if one of them is removed. `root`
  // empty: the file system's own.
  Result<Mount*> MountOn(std::shared_ptr<FileSystem> file_system, Mount& parent,
                         PinnedInode mountpoint, std::string path,
                         MountOptions options, PinnedInode root = {});
  // EBUSY while anything is open or mounted in it, or at the top (umount(2)).
  // lazy (MNT_DETACH): detaches now, it and all that is mounted in it, and each
  // mount ends with its last user.
  Errno Unmount(Mount& mount, bool lazy = false) {
    return UnmountById(mount.id(), lazy);
  }
  // The same for a mount that may be gone already: EINVAL.
  Errno UnmountById(uint64_t id, bool lazy);
  // detach_mounts(): lazily, all that is mounted on a directory that was
  // removed. Not with a directory's mutex held.
  void DetachMountsOn(const Inode& removed);
  // EBUSY while a file is open for writing (remount,ro).
  Errno SetReadOnly(Mount& mount, bool read_only);

  // In an RCU read section: what is mounted on `inode` of `parent`, or null.
  Mount* FindChild(const Mount* parent, const Inode* inode) const;

  // In the order of mounting. The mounts live at least as long as the caller is
  // in an RCU read section.
  std::vector<Mount*> List() const;
  size_t size() const;

 private:
  using Snapshot = std::vector<Mount*>;

  // Takes a mount out of the namespace, with all that is mounted in it (not
  // lazy: EBUSY if something is).
  Errno DetachTree(Mount& mount, bool lazy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same for a mount without children.
  Errno Detach(Mount& mount, bool lazy) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Publish(std::unique_ptr<Snapshot> snapshot)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A mount of `file_system` was detached; `left`: what is still mounted.
  static void LeaveNamespace(const Snapshot& left, FileSystem& file_system);

  mutable absl::Mutex mu_;
  uint64_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
  // Replaced whole; readers are in RCU read sections.
  std::atomic<const Snapshot*> mounts_{nullptr};
};

}  // namespace vfsd::vfs
