// statx(2): checks of flags and masks, the empty-path fast path, and the one
// routine that fills a Statx from where a walk or a handle leads.
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"
#include "server/vfs/path.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<Statx> StatFile(Vfs& vfs, const Caller& caller,
                       const StatOperation& operation);

// vfs_getattr() and what vfs_statx_path() adds. `path` pinned or seen in this
// RCU read section. The security hook's error is the only one, and nothing is
// filled in then.
Result<Statx> FillStatx(const Vfs& vfs, const PathView& path, uint32_t mask);

}  // namespace vfsd::vfs
