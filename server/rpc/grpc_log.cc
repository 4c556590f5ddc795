#include "server/rpc/grpc_log.h"

#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>

namespace vfsd::rpc {
namespace {

void Log(gpr_log_func_args* args) {
  const auto level =
      args->severity == GPR_LOG_SEVERITY_ERROR  ? spdlog::level::err
      : args->severity == GPR_LOG_SEVERITY_INFO ? spdlog::level::info
                                                : spdlog::level::debug;
  spdlog::log(level, "grpc: {}", args->message);
}

}  // namespace

void RouteGrpcLog() { gpr_set_log_function(&Log); }

std::string GrpcVersion() { return grpc::Version(); }

}  // namespace vfsd::rpc
