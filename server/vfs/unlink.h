// unlinkat(2): unlink(2), and with AT_REMOVEDIR rmdir(2).
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<Done> Unlink(Vfs& vfs, const Caller& caller,
                    const UnlinkOperation& operation);

}  // namespace vfsd::vfs
