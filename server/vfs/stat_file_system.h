// statfs(2) and fstatfs(2).
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<Statfs> StatFilesystem(Vfs& vfs, const Caller& caller,
                              const StatFilesystemOperation& operation);

}  // namespace vfsd::vfs
