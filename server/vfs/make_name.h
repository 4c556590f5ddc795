// The operations that make a new name: mkdirat(2), mknodat(2), symlinkat(2) and
// linkat(2). What they share (filename_create() in the kernel: the parent, the
// order of "exists", "read-only" and "not allowed") is written once.
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<Done> MakeDirectory(Vfs& vfs, const Caller& caller,
                           const MakeDirectoryOperation& operation);
Result<Done> MakeNode(Vfs& vfs, const Caller& caller,
                      const MakeNodeOperation& operation);
Result<Done> MakeSymlink(Vfs& vfs, const Caller& caller,
                         const MakeSymlinkOperation& operation);
Result<Done> MakeLink(Vfs& vfs, const Caller& caller,
                      const MakeLinkOperation& operation);

}  // namespace vfsd::vfs
