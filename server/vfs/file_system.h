// FileSystem: what the kernel's superblock and inode operations are to it. The
// VFS keeps the names and inodes of every file system in its own tables (as the
// kernel does for ramfs and tmpfs: nothing is behind them); a file system says
// what is peculiar to it.
//
// It owns its names (a DentryTable) and, through them, its inodes.
//
// Owned by its mounts, shared. Thread safe. It must not end while a lock-free
// reader may be in it: mounts end after a grace period.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "server/base/errno.h"
#include "server/vfs/dentry_table.h"
#include "server/vfs/inode.h"

namespace vfsd::vfs {

class MountTable;

// What a file system answers differently from another.
struct FileSystemTraits {
  // As in /proc/mounts.
  std::string_view type_name;
  // As in statfs(2).
  uint64_t magic = 0;
  uint32_t block_size = 4096;
  // What statx can tell of its files, beside what every file system can.
  uint64_t attributes_mask = 0;
  // STATX_BTIME is known.
  bool has_birth_time = false;
  // A directory's size: base + entries * per_entry.
  uint64_t directory_size_base = 0;
  uint64_t directory_size_per_entry = 0;
  // The longest symbolic link that takes no block.
  uint64_t inline_symlink_bytes = 127;
  // Names can be made, removed and renamed by clients. Where not, creating a
  // file is EACCES and everything else EPERM, as for inode operations that a
  // kernel file system lacks.
  bool namespace_mutable = true;
};

class FileSystem {
 public:
  explicit FileSystem(const FileSystemTraits& traits);
  // Ends all names and inodes.
  virtual ~FileSystem();
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  const FileSystemTraits& traits() const { return traits_; }
  // The file system's device number: 0 and a minor of its own.
  uint32_t device_major() const { return 0; }
  uint32_t device_minor() const { return device_minor_; }
  uint64_t NextInodeNumber() {
    return next_ino_.fetch_add(1, std::memory_order_relaxed);
  }

  // The names. What changes them is in namespace_link.h.
  DentryTable& dentries() { return dentries_; }
  const DentryTable& dentries() const { return dentries_; }

  // Names and the root: what statfs(2) counts as files in use, hard links once
  // a name.
  size_t inode_count() const { return dentries_.size() + 1; }

  // The root directory; the file system holds a reference.
  Inode& root() const { return *root_; }

  // Where it is mounted, or null: who removes names without a walk (proc) tells
  // it of mount points that went. A file system is in one namespace at a time.
  MountTable* mount_table() const {
    return mount_table_.load(std::memory_order_acquire);
  }
  // The MountTable alone.
  void SetMountTable(MountTable* mounts) {
    mount_table_.store(mounts, std::memory_order_release);
  }

 protected:
  // Once, in the constructor of a derived class: the root directory, not linked
  // anywhere.
  void SetRoot(PinnedInode root);

 private:
  const FileSystemTraits traits_;
  const uint32_t device_minor_;
  std::atomic<uint64_t> next_ino_{1};
  std::atomic<MountTable*> mount_table_{nullptr};
  DentryTable dentries_;
  PinnedInode root_;
};

}  // namespace vfsd::vfs
