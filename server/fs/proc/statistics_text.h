// The content of /proc/stat: the server's own counters, a name and a whole
// number a line, so that a shell can read them. Lines are only ever added. It
// sums every thread's counters, tens of microseconds: to be cached
// (CachedText).
//
//   operations_<op>         operations that ended (open, close, stat …)
//   operations_<op>_errors  of these, with an error
//   sessions, open_handles, open_files
//   deferred_files_total, never_opened_extra_references_total
//   fast_walks_total, locked_walks_total, mounts
//   objects_<kind>          live objects (dentry, regular_inode …)
//   fast_path_<name>_{enabled,hits,general}, name with _ for -
#pragma once

#include <string>

#include "server/vfs/operation_counters.h"
#include "server/vfs/session_table.h"
#include "server/vfs/vfs.h"

namespace vfsd::proc {

std::string StatisticsText(const vfs::Vfs& vfs,
                           const vfs::OperationCounters& operations,
                           const vfs::SessionTable& sessions);

}  // namespace vfsd::proc
