// The content of /proc/mounts (proc_pid_mounts(5), fstab(5)).
#pragma once

#include <string>

#include "server/vfs/mount.h"

namespace vfsd::proc {

// A line a mount in the order of mounting: source (the type's name, since
// nothing is behind these file systems), mount point, type, options, 0 0.
// Spaces, tabs, newlines, backslashes and # in names are octal escapes.
std::string MountsText(const vfs::MountTable& mounts);

}  // namespace vfsd::proc
