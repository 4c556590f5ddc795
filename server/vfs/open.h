// openat(2): from flags and a path to an OPENED file (the kernel's do_open,
// do_dentry_open, lookup_open, may_open).
//
// Who owns the walk's reference:
//  - Open(PinnedPath&&, file): open-consume; the file takes it over whatever
//    comes out, and gives it back itself on an early error;
//  - Open(const PinnedPath&, file): the file takes references of its own, the
//    caller keeps its own.
#pragma once

#include <cstdint>

#include "server/base/result.h"
#include "server/vfs/file.h"
#include "server/vfs/operation.h"
#include "server/vfs/path.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

struct Caller;

class FileOpener {
 public:
  // For one operation, on one thread; both must outlive it.
  FileOpener(Vfs& vfs, const Caller& caller) : vfs_(vfs), caller_(caller) {}

  // The whole system call: flags, room for a handle, EMPTY file, walk, open,
  // handle.
  Result<Handle> Run(const OpenOperation& operation);

  // vfs_open_consume(). On an error HasMode(kFileOpened) tells whether it was a
  // late one; `file` stays the caller's either way.
  Errno Open(PinnedPath&& path, File& file);
  // vfs_open().
  Errno Open(const PinnedPath& path, File& file);

 private:
  struct OpenFlags;

  Errno OpenPath(const OpenOperation& operation, const OpenFlags& flags,
                 File& file);
  Errno OpenExistingOrCreate(const WalkRequest& request, const OpenFlags& flags,
                             File& file);
  Errno OpenTemporary(const WalkRequest& request, const OpenFlags& flags,
                      File& file);
  // do_open() from may_create_in_sticky on.
  Errno Finish(PinnedPath&& path, const Inode* directory,
               const OpenFlags& flags, bool created, File& file);
  Errno MayOpen(const PathView& path, const OpenFlags& flags, uint32_t wanted,
                bool& truncate);
  // Ends the file of an open that failed.
  void GiveBack(File* file);
  // do_dentry_open(): consumes the reference whatever it returns.
  Errno DoOpen(PinnedPath&& path, File& file);

  Vfs& vfs_;
  const Caller& caller_;
};

}  // namespace vfsd::vfs
