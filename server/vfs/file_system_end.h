// Ends file systems that lost their last mount. A large one, whose names take
// seconds to free, on a thread of its own: where mounts end, every other thing
// that was retired waits behind it (rcu.h).
//
// Thread safe.
#pragma once

#include <memory>

#include "server/vfs/file_system.h"

namespace vfsd::vfs {

// Drops a reference; if it is the last, the file system ends, here if it is
// small, or soon.
void DropFileSystem(std::shared_ptr<FileSystem> file_system);

// Waits until all that DropFileSystem put off have ended.
void WaitForFileSystemEnds();

}  // namespace vfsd::vfs
