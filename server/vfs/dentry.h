// Dentry: a name in a directory and the inode that it names. Immutable once
// published: a rename publishes a new dentry and retires the old one, so that a
// lock-free reader that finds one can trust all of it. (The kernel's dentry
// moves; and the kernel's open files pin dentries, ours pin inodes.)
//
// Owned by the DentryTable and listed in its directory's `children`, from
// LinkDentry to UnlinkDentry; freed after a grace period.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "server/vfs/name_bytes.h"

namespace vfsd::vfs {

class Inode;

class Dentry {
 public:
  struct Deleter {
    void operator()(Dentry* dentry) const { Delete(dentry); }
  };
  using Ptr = std::unique_ptr<Dentry, Deleter>;

  // name: 1 to 255 bytes; copied. cookie: unique in the directory.
  static Ptr Create(Inode& parent, std::string_view name, uint32_t hash,
                    Inode& inode, uint64_t cookie);
  static void Delete(Dentry* dentry);
  // What one takes, with its name.
  static size_t AllocationBytes(size_t name_bytes);

  Inode& parent() const { return *parent_; }
  Inode& inode() const { return *inode_; }
  uint64_t cookie() const { return cookie_; }
  uint32_t hash() const { return hash_; }
  std::string_view name() const { return {name_, name_length_}; }

  // The key of the table: directory and name.
  bool Matches(const Inode* parent, uint32_t hash,
               std::string_view name) const {
    return hash_ == hash && parent_ == parent && name_length_ == name.size() &&
           SameBytes(name_, name.data(), name.size());
  }

 private:
  Dentry(Inode& parent, std::string_view name, uint32_t hash, Inode& inode,
         uint64_t cookie);

  // Neither is counted: the parent lives as long as it has children, and the
  // inode's namespace reference lasts as long as its names do.
  Inode* const parent_;
  Inode* const inode_;
  const uint64_t cookie_;
  const uint32_t hash_;
  const uint8_t name_length_;
  char name_[];  // allocated behind the object
};

}  // namespace vfsd::vfs
