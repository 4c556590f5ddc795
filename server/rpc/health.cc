#include "server/rpc/health.h"

#include <algorithm>
#include <string>

namespace vfsd::rpc {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

ServingStatus HealthOf(const Worker& worker, std::string_view service) {
  if (!service.empty() &&
      std::ranges::find(worker.services, service) == worker.services.end()) {
    return HealthCheckResponse::SERVICE_UNKNOWN;
  }
  return worker.backend.draining.load(std::memory_order_relaxed)
             ? HealthCheckResponse::NOT_SERVING
             : HealthCheckResponse::SERVING;
}

std::optional<std::string> HealthSubject(std::string_view request) {
  HealthCheckRequest message;
  if (!message.ParseFromArray(request.data(), static_cast<int>(request.size())))
    return std::nullopt;
  return std::move(*message.mutable_service());
}

void EncodeHealth(ServingStatus status, WireWriter& writer) {
  writer.Ensure(16);
  writer.PutVarintField(HealthCheckResponse::kStatusFieldNumber,
                        static_cast<uint64_t>(status));
}

Outcome<void> RunHealthCheck(Worker& worker, std::string_view request) {
  const std::optional<std::string> subject = HealthSubject(request);
  if (!subject.has_value()) return std::unexpected(Reason::kMalformedRequest);
  const ServingStatus status = HealthOf(worker, *subject);
  if (status == HealthCheckResponse::SERVICE_UNKNOWN)
    return std::unexpected(Reason::kServiceUnknown);
  EncodeHealth(status, worker.writer);
  return {};
}

}  // namespace vfsd::rpc
