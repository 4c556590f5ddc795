// mount(2) and umount2(2) by path, as the administrator asks for them.
//
// Paths are walked with root's rights from the namespace's root; symbolic links
// at the end are followed. Errors as mount(2), umount2(2).
#pragma once

#include <memory>
#include <string_view>

#include "server/base/result.h"
#include "server/vfs/mount.h"

namespace vfsd::vfs {

class Vfs;

// A file system on the directory at `path`. ENOTDIR, ENOENT, EBUSY.
Errno MountAt(Vfs& vfs, std::string_view path,
              std::shared_ptr<FileSystem> file_system, MountOptions options);

// MS_BIND: the directory at `source`, as seen there, on that at `path`.
Errno BindAt(Vfs& vfs, std::string_view source, std::string_view path,
             MountOptions options);

// MS_REMOUNT: `path` is a mount's root (EINVAL), EBUSY while it is written to.
Errno RemountAt(Vfs& vfs, std::string_view path, bool read_only);

// `path` is a mount's root (EINVAL), EBUSY while anything is open or mounted in
// it. lazy: MNT_DETACH.
Errno UnmountAt(Vfs& vfs, std::string_view path, bool lazy);

}  // namespace vfsd::vfs
