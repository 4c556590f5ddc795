// Sends gRPC's own log lines to the server's log, so that there is one.
#pragma once

#include <string>

namespace vfsd::rpc {

void RouteGrpcLog();

// The gRPC library's version, for metrics.
std::string GrpcVersion();

}  // namespace vfsd::rpc
