// `vfsctl mount`, `vfsctl unmount`, `vfsctl mounts`: the server's mounts.
#ifndef CLIENT_CTL_MOUNT_COMMAND_H_
#define CLIENT_CTL_MOUNT_COMMAND_H_

#include <string>

#include "client/ctl/command.h"

namespace vfsctl {

struct MountOptions {
  std::string path;
  // What to mount there: a directory of the namespace once more, or an empty
  // tree; or only other options for what is mounted there.
  std::string bind;
  bool remount = false;
  bool read_only = false;
  bool no_direct_io = false;
};

struct UnmountOptions {
  std::string path;
  bool lazy = false;
};

struct MountsOptions {
  bool json = false;
};

ExitStatus RunMount(const GlobalOptions& global, const MountOptions& options);
ExitStatus RunUnmount(const GlobalOptions& global,
                      const UnmountOptions& options);
ExitStatus RunMounts(const GlobalOptions& global, const MountsOptions& options);

}  // namespace vfsctl

#endif  // CLIENT_CTL_MOUNT_COMMAND_H_
