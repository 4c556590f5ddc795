// ProcFileSystem: files whose content is made when they are read (proc(5)).
// Clients cannot change its names; parts of the server register and remove
// entries.
//
// Permanent entries are given to the constructor and to nobody else: that they
// are never removed is something that only the server's own table can promise.
// All other entries are removable, whatever their providers claim.
//
// Removal is refused for a permanent entry and for a directory that has one
// anywhere below, with a warning in the log; nothing is removed then.
//
// Locks: the tree lock orders registrations and removals. It comes before all
// locks of vfs.h and is never held while a hook runs or a removal waits for
// one. (It is while what was mounted on a removed directory is detached.)
//
// Owned by its mounts, shared. Thread safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/result.h"
#include "server/base/sharded_counter.h"
#include "server/fs/proc/file_provider.h"
#include "server/fs/proc/proc_entry.h"
#include "server/fs/proc/proc_file.h"
#include "server/vfs/fast_paths.h"
#include "server/vfs/file_system.h"

namespace vfsd::proc {

// Permissions and owner of an entry.
struct EntryAttributes {
  uint32_t permissions = 0444;
  uint32_t uid = 0;
  uint32_t gid = 0;
};

// A file of the server's own table. Its provider may claim to be permanent.
struct CoreFile {
  // Relative to the root; directories on the way are made, removable and with
  // mode 0555.
  std::string path;
  EntryAttributes attributes;
  std::unique_ptr<FileProvider> provider;
};

class ProcFileSystem final : public vfs::FileSystem {
 public:
  // fast_paths: has the switch and the counters of "permanent". counters: may
  // be null. Both outlive the file system and its open files. Two core files of
  // one path are a mistake in the program, which ends there.
  ProcFileSystem(vfs::FastPaths& fast_paths, std::vector<CoreFile> core_files,
                 ProcCounters* counters = nullptr);
  ~ProcFileSystem() override;

  // Registers an entry in `parent`, or in the root if that is null. EEXIST;
  // EINVAL for a name that cannot be one; ENOTDIR if `parent` is a file, ENOENT
  // if it was removed.
  Result<ProcEntryRef> AddDirectory(const ProcEntryRef& parent,
                                    std::string_view name,
                                    const EntryAttributes& attributes = {
                                        .permissions = 0555});
  Result<ProcEntryRef> AddFile(const ProcEntryRef& parent,
                               std::string_view name,
                               const EntryAttributes& attributes,
                               std::unique_ptr<FileProvider> provider);

  // Removes an entry (remove_proc_entry()). Returns when nobody is inside the
  // provider's hooks any more and the provider has ended; does not wait for
  // open files. Not from a hook of the entry. `parent` null: the root. ENOENT;
  // EPERM for a permanent entry; ENOTEMPTY for a directory with entries.
  Errno Remove(const ProcEntryRef& parent, std::string_view name);
  // The entry and everything below (remove_proc_subtree()). ENOENT; EINVAL if
  // the entry or anything below is permanent.
  Errno RemoveSubtree(const ProcEntryRef& parent, std::string_view name);

  // The entry of that name, or null.
  ProcEntryRef Find(const ProcEntryRef& parent, std::string_view name) const;

  // Removals that were refused because of a permanent entry.
  int64_t refused_removals() const { return refused_removals_.Sum(); }

 private:
  // What a registration makes an entry of.
  struct DirectorySpec {};
  struct FileSpec {
    std::unique_ptr<FileProvider> provider;
  };
  using ContentSpec = std::variant<DirectorySpec, FileSpec>;
  // Who registers: decides which flags are heeded.
  enum class Registrant { kCoreTable, kAnybody };

  // The one way in which entries come into being.
  Result<ProcEntryRef> Register(const ProcEntryRef& parent,
                                std::string_view name,
                                const EntryAttributes& attributes,
                                ContentSpec content, Registrant registrant);
  void RegisterCoreFile(CoreFile file);

  const ProcEntryRef& DirectoryOrRoot(const ProcEntryRef& parent) const {
    return parent != nullptr ? parent : root_entry_;
  }
  ProcEntryRef FindLocked(const ProcEntry& parent, std::string_view name) const
      ABSL_SHARED_LOCKS_REQUIRED(tree_mu_);
  struct Placed {
    ProcEntryRef parent;
    ProcEntryRef entry;
  };
  // The entry and everything below, parents before children. Of the tree lock.
  static std::vector<Placed> Collect(const ProcEntryRef& parent,
                                     const ProcEntryRef& entry);
  // Ends a detached entry's provider, if it has one.
  static void RunDown(ProcEntry& entry);
  // Takes the entry's name out of the tree and of the VFS.
  void Detach(ProcEntry& parent, ProcEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(tree_mu_);
  Errno Refuse(std::string_view name, Errno error);

  vfs::FastPaths& fast_paths_;
  ProcCounters* const counters_;
  ShardedCounter refused_removals_;
  mutable absl::Mutex tree_mu_;
  // The root; set in the constructor.
  ProcEntryRef root_entry_;
};

}  // namespace vfsd::proc
