// grpc.health.v1: what the server says of its health. Served on our own queues:
// the library's service brings completion queues and polling threads of its
// own along, which take CPU time from every call.
#pragma once

#include <optional>
#include <string_view>

#include "grpc/health/v1/health.pb.h"
#include "server/rpc/failure.h"
#include "server/rpc/worker.h"

namespace vfsd::rpc {

inline constexpr std::string_view kHealthService = "grpc.health.v1.Health";

using ServingStatus = ::grpc::health::v1::HealthCheckResponse::ServingStatus;

// Of the server ("") or of a service of it; of another one SERVICE_UNKNOWN.
ServingStatus HealthOf(const Worker& worker, std::string_view service);

// The service that an encoded HealthCheckRequest means; nothing if it is
// malformed.
std::optional<std::string> HealthSubject(std::string_view request);

// Writes a HealthCheckResponse.
void EncodeHealth(ServingStatus status, WireWriter& writer);

// Health.Check.
Outcome<void> RunHealthCheck(Worker& worker, std::string_view request);

}  // namespace vfsd::rpc
