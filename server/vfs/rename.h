// renameat2(2), with RENAME_NOREPLACE and RENAME_EXCHANGE.
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<Done> Rename(Vfs& vfs, const Caller& caller,
                    const RenameOperation& operation);

}  // namespace vfsd::vfs
