#include "server/vfs/rename.h"

#include <optional>

#include "absl/cleanup/cleanup.h"
#include "server/vfs/executor.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/permission.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

using namespace linux_abi;  // NOLINT: the kernel's constants are this file's
                            // vocabulary

namespace {

// Whether `ancestor` is `inode` or above it, in one file system.
// REQUIRES: the rename mutex, which keeps parents from changing.
bool IsSelfOrAncestor(const Inode& ancestor, const Inode& inode) {
  const Inode* at = &inode;
  for (;;) {
    if (at == &ancestor) return true;
    const Inode* const parent = at->directory().parent();
    if (parent == at) return false;
    at = parent;
  }
}

// lock_rename(): the mutexes of two directories, the rename mutex first where
// they differ.
class RenameLocks {
 public:
  RenameLocks(Vfs& vfs, Inode& a, Inode& b) ABSL_NO_THREAD_SAFETY_ANALYSIS
      : a_(a),
        b_(b) {
    if (&a == &b) {
      a.directory().mu.Lock();
      return;
    }
    vfs_ = &vfs;
    vfs.rename_mutex.Lock();
    // An ancestor before its descendant, else by address.
    const bool b_first =
        IsSelfOrAncestor(b, a) || (!IsSelfOrAncestor(a, b) && &b < &a);
    Inode& first = b_first ? b : a;
    Inode& second = b_first ? a : b;
    first.directory().mu.Lock();
    second.directory().mu.Lock();
  }
  ~RenameLocks() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (&a_ != &b_) b_.directory().mu.Unlock();
    a_.directory().mu.Unlock();
    if (vfs_ != nullptr) vfs_->rename_mutex.Unlock();
  }
  RenameLocks(const RenameLocks&) = delete;
  RenameLocks& operator=(const RenameLocks&) = delete;

 private:
  Inode& a_;
  Inode& b_;
  Vfs* vfs_ = nullptr;
};

// One rename whose directories are found and locked.
struct LockedRename {
  Vfs& vfs;
  const Credentials& credentials;
  FileSystem& file_system;
  const WalkParent& from;
  const WalkParent& to;
  uint32_t flags;

  bool exchange() const { return (flags & kRenameExchange) != 0; }

  // do_renameat2() from the lookups on.
  Errno Run() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    Inode& old_directory = from.directory.inode();
    Inode& new_directory = to.directory.inode();
    Dentry* old_dentry = nullptr;
    Errno error = LookUp(old_directory, from.name, old_dentry);
    if (error != Errno::kOk) return error;
    if (old_dentry == nullptr) return Errno::kENOENT;
    Dentry* new_dentry = nullptr;
    error = LookUp(new_directory, to.name, new_dentry);
    if (error != Errno::kOk) return error;
    // The lookup of a name that is not there fails, as procfs's.
    if (new_dentry == nullptr && !file_system.traits().namespace_mutable)
      return Errno::kENOENT;

    Inode& source = old_dentry->inode();
    Inode* const target =
        new_dentry != nullptr ? &new_dentry->inode() : nullptr;
    if ((flags & kRenameNoreplace) != 0 && target != nullptr)
      return Errno::kEEXIST;
    if (exchange()) {
      if (target == nullptr) return Errno::kENOENT;
      if (!target->IsDirectory() && to.trailing_slash) return Errno::kENOTDIR;
    }
    // Unless the source is a directory, trailing slashes are an error.
    if (!source.IsDirectory() &&
        (from.trailing_slash || (!exchange() && to.trailing_slash))) {
      return Errno::kENOTDIR;
    }
    if (&old_directory != &new_directory) {
      // Into itself, or over what it is in.
      if (source.IsDirectory() && IsSelfOrAncestor(source, new_directory))
        return Errno::kEINVAL;
      if (target != nullptr && target->IsDirectory() &&
          IsSelfOrAncestor(*target, old_directory)) {
        return exchange() ? Errno::kEINVAL : Errno::kENOTEMPTY;
      }
    }
    if (target == &source)
      return Errno::kOk;  // two names of one inode: nothing to do

    error = MayRename(old_directory, source, new_directory, target);
    if (error != Errno::kOk) return error;
    const bool moves_directory =
        &old_directory != &new_directory &&
        (source.IsDirectory() || (exchange() && target->IsDirectory()));
    if (moves_directory) vfs.directory_moves.fetch_add(1);
    const absl::Cleanup moved = [this, moves_directory] {
      if (moves_directory) vfs.directory_moves.fetch_add(1);
    };
    const Timestamp now = Timestamp::Now();
    if (exchange()) {
      ExchangeNames(file_system, old_directory, *old_dentry, new_directory,
                    *new_dentry, now);
      return Errno::kOk;
    }
    if (target == nullptr || !target->IsDirectory()) {
      MoveName(file_system, old_directory, *old_dentry, new_directory, to.name,
               new_dentry, now);
      return Errno::kOk;
    }
    // Keeps the mutex's memory until it is unlocked.
    const PinnedInode pin = PinnedInode::Share(*target);
    absl::MutexLock lock(&target->directory().mu);
    // Again: since MayRename looked something may have been mounted.
    if (target->HasFlag(kInodeMountPoint)) return Errno::kEBUSY;
    if (!target->directory().children.empty()) return Errno::kENOTEMPTY;
    MoveName(file_system, old_directory, *old_dentry, new_directory, to.name,
             new_dentry, now);
    return Errno::kOk;
  }

  Errno LookUp(const Inode& directory, std::string_view name,
               Dentry*& dentry) const {
    if (directory.HasFlag(kInodeDead)) return Errno::kENOENT;
    if (name.size() > kNameMax) return Errno::kENAMETOOLONG;
    dentry = FindName(file_system, directory, name);
    return Errno::kOk;
  }

  // vfs_rename() up to the file system's part.
  Errno MayRename(const Inode& old_directory, const Inode& source,
                  const Inode& new_directory, const Inode* target) const {
    const bool is_directory = source.IsDirectory();
    Errno error =
        CheckMayDelete(credentials, old_directory, source, is_directory);
    if (error != Errno::kOk) return error;
    if (target == nullptr) {
      error = CheckMayCreate(credentials, new_directory);
    } else {
      error = CheckMayDelete(credentials, new_directory, *target,
                             exchange() ? target->IsDirectory() : is_directory);
    }
    if (error != Errno::kOk) return error;
    if (!file_system.traits().namespace_mutable) return Errno::kEPERM;
    if (&old_directory != &new_directory) {
      // A directory's ".." changes: that is a write to it.
      if (is_directory) error = CheckPermission(credentials, source, kMayWrite);
      if (error == Errno::kOk && exchange() && target->IsDirectory()) {
        error = CheckPermission(credentials, *target, kMayWrite);
      }
      if (error != Errno::kOk) return error;
    }
    // Of whichever mount: is_local_mountpoint() asks for the whole namespace.
    if (source.HasFlag(kInodeMountPoint) ||
        (target != nullptr && target->HasFlag(kInodeMountPoint))) {
      return Errno::kEBUSY;
    }
    return Errno::kOk;
  }
};

Result<WalkParent> FindParent(Vfs& vfs, const Caller& caller,
                              const DirectoryArgument& dir,
                              const PathArgument& path) {
  const Errno error = CheckPathArgument(path, /*empty_allowed=*/false);
  if (error != Errno::kOk) return Fail(error);
  const WalkRequest request{vfs, caller.session, *caller.credentials, dir,
                            *path};
  return Walker(request).ResolveParent();
}

}  // namespace

Result<Done> Rename(Vfs& vfs, const Caller& caller,
                    const RenameOperation& operation) {
  constexpr uint32_t kRenameFlags = kRenameNoreplace | kRenameExchange;
  if ((operation.flags & ~kRenameFlags) != 0 ||
      operation.flags == kRenameFlags) {
    return Fail(Errno::kEINVAL);
  }
  // What is wrong with the new path comes after all that is with the old one.
  const Result<WalkParent> from =
      FindParent(vfs, caller, operation.old_dir, operation.old_path);
  if (!from.has_value()) return Fail(from.error());
  const Result<WalkParent> to =
      FindParent(vfs, caller, operation.new_dir, operation.new_path);
  if (!to.has_value()) return Fail(to.error());

  Mount& mount = from->directory.mount();
  if (&mount != &to->directory.mount()) return Fail(Errno::kEXDEV);
  if (from->type != LastType::kName) return Fail(Errno::kEBUSY);
  if (to->type != LastType::kName) {
    return Fail((operation.flags & kRenameNoreplace) != 0 ? Errno::kEEXIST
                                                          : Errno::kEBUSY);
  }
  Errno error = mount.WantWrite();
  if (error != Errno::kOk) return Fail(error);
  const absl::Cleanup drop_write = [&mount] { mount.DropWrite(); };
  const RenameLocks locks(vfs, from->directory.inode(), to->directory.inode());
  error = LockedRename{vfs, *caller.credentials, mount.file_system(), *from,
                       *to, operation.flags}
              .Run();
  if (error != Errno::kOk) return Fail(error);
  return Done();
}

}  // namespace vfsd::vfs
