// How many CPUs this process may use: its affinity and the quota of its control
// group (v1 and v2), which gRPC's own defaults know nothing of.
#pragma once

#include <string>

namespace vfsd::rpc {

// Where the kernel tells of control groups (cgroups(7)); tests have their own.
struct ControlGroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string top = "/sys/fs/cgroup";
};

// At least 1. A quota of 1.5 CPUs counts as 2.
int CpuAllowance(const ControlGroupFiles& files = {});

}  // namespace vfsd::rpc
