// pread(2) of synthetic files.
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<size_t> ReadFile(Vfs& vfs, const Caller& caller,
                        const ReadOperation& operation);

}  // namespace vfsd::vfs
