// The methods of vfs.v1.AdminService.
#pragma once

#include "server/rpc/backend.h"
#include "server/rpc/failure.h"
#include "vfs/v1/admin.pb.h"

namespace vfsd::rpc {

Outcome<void> SetFastPaths(Backend& backend,
                           const ::vfs::v1::SetFastPathsRequest& request,
                           ::vfs::v1::SetFastPathsResponse& response);

}  // namespace vfsd::rpc
