#include "server/vfs/namespace_link.h"

#include <cassert>
#include <string>
#include <utility>
#include <vector>

#include "server/sync/rcu.h"
#include "server/vfs/mount.h"
#include "server/vfs/namespace_generation.h"

namespace vfsd::vfs {
namespace {

// A name came or went: size and times of the directory, as tmpfs has them.
void StampDirectory(const FileSystem& file_system, Inode& directory,
                    Timestamp now,
                    int32_t link_count_delta) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const FileSystemTraits& traits = file_system.traits();
  const uint64_t entries = directory.directory().children.size();
  sync::SeqLockWriter writer(directory.attribute_lock);
  directory.SetSize(traits.directory_size_base +
                    traits.directory_size_per_entry * entries);
  directory.SetModifyTime(now);
  directory.SetChangeTime(now);
  directory.SetLinkCount(directory.nlink() +
                         static_cast<uint32_t>(link_count_delta));
}

void Publish(FileSystem& file_system, Inode& directory, std::string_view name,
             Inode& child) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Directory& names = directory.directory();
  Dentry* const dentry =
      Dentry::Create(directory, name, DentryTable::Hash(&directory, name),
                     child, names.next_cookie++)
          .release();
  names.children.insert(names.children.end(), dentry);
  file_system.dentries().Insert(dentry);
}

void Withdraw(FileSystem& file_system, Inode& directory,
              Dentry& dentry) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  directory.directory().children.erase(&dentry);
  file_system.dentries().Remove(&dentry);
}

Errno CheckNewName(const FileSystem& file_system, const Inode& directory,
                   std::string_view name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) !=
          std::string_view::npos) {
    return Errno::kEINVAL;
  }
  if (name.size() > linux_abi::kNameMax) return Errno::kENAMETOOLONG;
  if (directory.HasFlag(kInodeDead)) return Errno::kENOENT;
  if (FindName(file_system, directory, name) != nullptr) return Errno::kEEXIST;
  return Errno::kOk;
}

}  // namespace

Dentry* FindName(const FileSystem& file_system, const Inode& directory,
                 std::string_view name) {
  // The mutex keeps the dentry; the section keeps the table's array, which
  // other directories' changes may replace meanwhile.
  const sync::RcuReadSection section;
  return file_system.dentries().Find(&directory,
                                     DentryTable::Hash(&directory, name), name);
}

void AddName(FileSystem& file_system, Inode& directory, std::string_view name,
             PinnedInode child, Timestamp now) {
  const bool is_directory = child->IsDirectory();
  if (is_directory) child->directory().SetParent(directory);
  MakeNamespaceReference(*child);
  Publish(file_system, directory, name, *child.Release());
  StampDirectory(file_system, directory, now, is_directory ? 1 : 0);
}

Errno TryAddHardLink(FileSystem& file_system, Inode& directory,
                     std::string_view name, Inode& existing, Timestamp now) {
  {
    sync::SeqLockWriter writer(existing.attribute_lock);
    if (existing.nlink() == 0) {
      if (!existing.HasFlag(kInodeLinkable)) return Errno::kENOENT;
      existing.ClearFlag(kInodeLinkable);
      // The namespace's reference; the caller's keeps the inode until then.
      existing.references.Get();
      MakeNamespaceReference(existing);
    }
    existing.SetLinkCount(existing.nlink() + 1);
    existing.SetChangeTime(now);
  }
  Publish(file_system, directory, name, existing);
  StampDirectory(file_system, directory, now, 0);
  return Errno::kOk;
}

void RemoveName(FileSystem& file_system, Inode& directory, Dentry& dentry,
                Timestamp now) {
  Inode& inode = dentry.inode();
  Withdraw(file_system, directory, dentry);
  StampDirectory(file_system, directory, now, 0);
  bool last;
  {
    sync::SeqLockWriter writer(inode.attribute_lock);
    inode.SetLinkCount(inode.nlink() - 1);
    inode.SetChangeTime(now);
    last = inode.nlink() == 0;
  }
  if (last) PutNamespaceReference(inode);
}

void RemoveDirectoryName(FileSystem& file_system, Inode& directory,
                         Dentry& dentry, Timestamp now) {
  Inode& inode = dentry.inode();
  const NamespaceChange change;
  inode.SetFlag(kInodeDead);
  Withdraw(file_system, directory, dentry);
  StampDirectory(file_system, directory, now, -1);
  {
    sync::SeqLockWriter writer(inode.attribute_lock);
    inode.SetLinkCount(0);
    inode.SetChangeTime(now);
  }
  PutNamespaceReference(inode);
}

namespace {

// Readers of both directories see what is done in its lifetime all or not at
// all. The lower address is locked first.
class BothDirectories {
 public:
  BothDirectories(Inode& a, Inode& b)
      : first_(&a < &b ? a : b), second_(&a < &b ? b : a) {
    first_.walk_lock.WriteLock();
    if (&first_ != &second_) second_.walk_lock.WriteLock();
  }
  ~BothDirectories() {
    if (&first_ != &second_) second_.walk_lock.WriteUnlock();
    first_.walk_lock.WriteUnlock();
  }
  BothDirectories(const BothDirectories&) = delete;
  BothDirectories& operator=(const BothDirectories&) = delete;

 private:
  Inode& first_;
  Inode& second_;
};

// The name of `old` names `inode` from now on; no reader misses the name, and
// its place in the directory's order stays.
void Rebind(FileSystem& file_system, Inode& directory, Dentry& old,
            Inode& inode) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Directory::Children& children = directory.directory().children;
  Dentry* const dentry =
      Dentry::Create(directory, old.name(), old.hash(), inode, old.cookie())
          .release();
  // The same cookie: erase before insert.
  const auto next = children.erase(children.find(&old));
  children.insert(next, dentry);
  file_system.dentries().Replace(&old, dentry);
}

// A name of `inode` was replaced by another inode's: what RemoveName does to
// the inode.
void DropReplaced(Inode& inode, Timestamp now) {
  bool last;
  {
    sync::SeqLockWriter writer(inode.attribute_lock);
    inode.SetLinkCount(inode.IsDirectory() ? 0 : inode.nlink() - 1);
    inode.SetChangeTime(now);
    last = inode.nlink() == 0;
  }
  if (last) PutNamespaceReference(inode);
}

void StampChangeTime(Inode& inode, Timestamp now) {
  sync::SeqLockWriter writer(inode.attribute_lock);
  inode.SetChangeTime(now);
}

}  // namespace

void MoveName(FileSystem& file_system, Inode& old_directory, Dentry& from,
              Inode& new_directory, std::string_view new_name, Dentry* replaced,
              Timestamp now) {
  Inode& inode = from.inode();
  Inode* const victim = replaced != nullptr ? &replaced->inode() : nullptr;
  const bool is_directory = inode.IsDirectory();
  {
    const NamespaceChange change(is_directory);
    const BothDirectories both(old_directory, new_directory);
    if (replaced != nullptr) {
      if (victim->IsDirectory()) victim->SetFlag(kInodeDead);
      Rebind(file_system, new_directory, *replaced, inode);
    } else {
      Publish(file_system, new_directory, new_name, inode);
    }
    Withdraw(file_system, old_directory, from);
    if (is_directory && &old_directory != &new_directory) {
      inode.directory().SetParent(new_directory);
    }
  }
  // The moved directory's ".." counts in its new parent; a replaced directory's
  // no longer does.
  const bool replaced_directory = victim != nullptr && victim->IsDirectory();
  if (&old_directory == &new_directory) {
    StampDirectory(file_system, old_directory, now,
                   replaced_directory ? -1 : 0);
  } else {
    StampDirectory(file_system, old_directory, now, is_directory ? -1 : 0);
    StampDirectory(file_system, new_directory, now,
                   is_directory && !replaced_directory ? 1 : 0);
  }
  StampChangeTime(inode, now);
  if (victim != nullptr) DropReplaced(*victim, now);
}

void ExchangeNames(FileSystem& file_system, Inode& directory_a, Dentry& a,
                   Inode& directory_b, Dentry& b, Timestamp now) {
  Inode& inode_a = a.inode();
  Inode& inode_b = b.inode();
  const bool move = &directory_a != &directory_b;
  {
    const NamespaceChange change(inode_a.IsDirectory() ||
                                 inode_b.IsDirectory());
    const BothDirectories both(directory_a, directory_b);
    Rebind(file_system, directory_a, a, inode_b);
    Rebind(file_system, directory_b, b, inode_a);
    if (move && inode_a.IsDirectory())
      inode_a.directory().SetParent(directory_b);
    if (move && inode_b.IsDirectory())
      inode_b.directory().SetParent(directory_a);
  }
  int32_t delta = 0;  // of directory_a's link count
  if (move)
    delta = (inode_b.IsDirectory() ? 1 : 0) - (inode_a.IsDirectory() ? 1 : 0);
  StampDirectory(file_system, directory_a, now, delta);
  if (move) StampDirectory(file_system, directory_b, now, -delta);
  StampChangeTime(inode_a, now);
  StampChangeTime(inode_b, now);
}

Errno CreateChild(FileSystem& file_system, Inode& directory,
                  std::string_view name, PinnedInode child) {
  absl::MutexLock lock(&directory.directory().mu);
  const Errno error = CheckNewName(file_system, directory, name);
  if (error != Errno::kOk) return error;
  AddName(file_system, directory, name, std::move(child), Timestamp::Now());
  return Errno::kOk;
}

Errno LinkChild(FileSystem& file_system, Inode& directory,
                std::string_view name, Inode& existing) {
  absl::MutexLock lock(&directory.directory().mu);
  const Errno error = CheckNewName(file_system, directory, name);
  if (error != Errno::kOk) return error;
  return TryAddHardLink(file_system, directory, name, existing,
                        Timestamp::Now());
}

namespace {

// Removes `dentry` of `directory`, whose mutex is held; below it, depth first.
// The depth is bounded by the caller's tree (proc's is two). mountpoints: the
// directories among what was removed that something is mounted on.
void RemoveBelow(FileSystem& file_system, Inode& directory, Dentry& dentry,
                 Timestamp now, std::vector<PinnedInode>& mountpoints)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Inode& inode = dentry.inode();
  if (!inode.IsDirectory()) {
    RemoveName(file_system, directory, dentry, now);
    return;
  }
  // The removal may drop the last reference but this one, which keeps the
  // mutex's memory until it is unlocked.
  const PinnedInode pin = PinnedInode::Share(inode);
  absl::MutexLock lock(&inode.directory().mu);
  while (!inode.directory().children.empty()) {
    RemoveBelow(file_system, inode, **inode.directory().children.begin(), now,
                mountpoints);
  }
  RemoveDirectoryName(file_system, directory, dentry, now);
  // Nothing is mounted on a dead directory: the flag is final.
  if (inode.HasFlag(kInodeMountPoint))
    mountpoints.push_back(PinnedInode::Share(inode));
}

}  // namespace

Errno RemoveTree(FileSystem& file_system, Inode& directory,
                 std::string_view name) {
  std::vector<PinnedInode> mountpoints;
  {
    absl::MutexLock lock(&directory.directory().mu);
    Dentry* const dentry = FindName(file_system, directory, name);
    if (dentry == nullptr) return Errno::kENOENT;
    RemoveBelow(file_system, directory, *dentry, Timestamp::Now(), mountpoints);
  }
  if (MountTable* const mounts = file_system.mount_table()) {
    for (const PinnedInode& removed : mountpoints)
      mounts->DetachMountsOn(*removed);
  }
  return Errno::kOk;
}

}  // namespace vfsd::vfs
