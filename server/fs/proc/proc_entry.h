// ProcEntry: a name in the proc file system as its registrants see it (struct
// proc_dir_entry): what it is, what it was registered with, and what is below.
// The VFS has names and inodes of its own for it, made and removed together
// with the entry.
//
// Shared by ProcFileSystem's tree and by whoever registered it, who needs it to
// register more below. A removed entry stays a valid object, in which nothing
// can be registered.
//
// What an entry is and may is decided once, at registration, from the content
// that it was given: a directory never gets a file's flags. The mutable parts
// are guarded by ProcFileSystem's tree lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/container/btree_map.h"
#include "server/fs/proc/file_provider.h"
#include "server/fs/proc/proc_file.h"
#include "server/vfs/inode.h"

namespace vfsd::proc {

class ProcEntry;
using ProcEntryRef = std::shared_ptr<ProcEntry>;

class ProcEntry {
 public:
  const std::string& name() const { return name_; }
  bool IsDirectory() const {
    return std::holds_alternative<DirectoryContent>(content_);
  }
  bool permanent() const { return (flags_ & kProviderPermanent) != 0; }
  bool seekable() const { return (flags_ & kProviderSeeks) != 0; }
  vfs::Inode& inode() const { return *inode_; }

 private:
  friend class ProcFileSystem;

  struct DirectoryContent {
    // Sorted by name; of the tree lock.
    absl::btree_map<std::string, ProcEntryRef, std::less<>> children;
  };
  struct FileContent {
    ProcFile* file;  // the inode's, which is pinned here
  };
  using Content = std::variant<DirectoryContent, FileContent>;

  ProcEntry(std::string name, uint8_t flags, Content content,
            vfs::PinnedInode inode)
      : name_(std::move(name)),
        flags_(flags),
        inode_(std::move(inode)),
        content_(std::move(content)) {}

  const std::string name_;
  const uint8_t flags_;  // ProviderFlag bits; none for a directory
  const vfs::PinnedInode inode_;
  Content content_;
  bool removed_ = false;  // of the tree lock
};

}  // namespace vfsd::proc
