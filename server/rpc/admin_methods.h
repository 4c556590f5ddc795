// The methods of vfs.v1.AdminService.
#pragma once

#include "server/rpc/backend.h"
#include "server/rpc/failure.h"
#include "vfs/v1/admin.pb.h"

namespace vfsd::rpc {

Outcome<void> SetFastPaths(Backend& backend,
                           const ::vfs::v1::SetFastPathsRequest& request,
                           ::vfs::v1::SetFastPathsResponse& response);

// AdminService.Mount and Unmount; Mount is a class of the core.
Outcome<void> MountTree(Backend& backend,
                        const ::vfs::v1::MountRequest& request,
                        ::vfs::v1::MountResponse& response);
Outcome<void> UnmountTree(Backend& backend,
                          const ::vfs::v1::UnmountRequest& request,
                          ::vfs::v1::UnmountResponse& response);
Outcome<void> ListMounts(Backend& backend,
                         const ::vfs::v1::ListMountsRequest& request,
                         ::vfs::v1::ListMountsResponse& response);

}  // namespace vfsd::rpc
