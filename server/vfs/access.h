// faccessat2(2).
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<Done> CheckAccess(Vfs& vfs, const Caller& caller,
                         const AccessOperation& operation);

}  // namespace vfsd::vfs
