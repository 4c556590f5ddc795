// getdents64(2) from a cursor on.
//
// A cursor is the cookie of the next entry: entries get growing cookies when
// they come into the directory and keep them, so an entry that stays is met
// exactly once whatever comes and goes around it.
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<DirectoryPage> ReadDirectory(Vfs& vfs, const Caller& caller,
                                    const ReadDirectoryOperation& operation);

}  // namespace vfsd::vfs
