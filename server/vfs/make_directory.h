// mkdirat(2).
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<Done> MakeDirectory(Vfs& vfs, const Caller& caller,
                           const MakeDirectoryOperation& operation);

}  // namespace vfsd::vfs
