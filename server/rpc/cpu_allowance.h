// How many CPUs this process may use: its affinity and the quota of its control
// group (v1 and v2), which gRPC's own defaults know nothing of.
#pragma once

namespace vfsd::rpc {

// At least 1. A quota of 1.5 CPUs counts as 2.
int CpuAllowance();

}  // namespace vfsd::rpc
