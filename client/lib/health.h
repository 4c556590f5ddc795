// The standard gRPC health check (grpc.health.v1.Health/Check), client side.
//
// Spoken without generated code: the request is one string, the reply one enum
// (https://github.com/grpc/grpc/blob/master/doc/health-checking.md).
#ifndef CLIENT_LIB_HEALTH_H_
#define CLIENT_LIB_HEALTH_H_

#include <grpcpp/channel.h>

#include <chrono>
#include <expected>
#include <memory>
#include <string_view>

#include "client/lib/error.h"

namespace vfsclient {

// grpc.health.v1.HealthCheckResponse.ServingStatus.
enum class ServingStatus {
  kUnknown = 0,
  kServing = 1,
  kNotServing = 2,
  kServiceUnknown = 3,
};

std::string_view ServingStatusName(ServingStatus status);

// Asks for `service`; "" is the server as a whole.
std::expected<ServingStatus, Error> CheckHealth(
    const std::shared_ptr<grpc::Channel>& channel, std::string_view service,
    std::chrono::milliseconds timeout);

}  // namespace vfsclient

#endif  // CLIENT_LIB_HEALTH_H_
