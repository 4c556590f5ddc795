// What the server asks of gRPC's transport. In a place of its own so that the
// benchmarks' echo service is measured under the same.
#pragma once

#include <grpcpp/server_builder.h>

#include <cstdint>

namespace vfsd::rpc {

// max_message_bytes: of a request, as clients are told.
void SetTransportOptions(uint32_t max_message_bytes,
                         grpc::ServerBuilder& builder);

}  // namespace vfsd::rpc
