// OpenSession, KeepAlive and CloseSession of vfs.v1.VfsService.
#pragma once

#include "server/rpc/backend.h"
#include "server/rpc/failure.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {

Outcome<void> OpenSession(Backend& backend,
                          const ::vfs::v1::OpenSessionRequest& request,
                          ::vfs::v1::OpenSessionResponse& response);
Outcome<void> KeepAlive(Backend& backend,
                        const ::vfs::v1::KeepAliveRequest& request,
                        ::vfs::v1::KeepAliveResponse& response);
Outcome<void> CloseSession(Backend& backend,
                           const ::vfs::v1::CloseSessionRequest& request,
                           ::vfs::v1::CloseSessionResponse& response);

}  // namespace vfsd::rpc
