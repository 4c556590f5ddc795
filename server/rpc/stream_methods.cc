#include "server/rpc/stream_methods.h"

#include <array>

#include "server/rpc/reflection.h"

namespace vfsd::rpc {
namespace {

Outcome<size_t> RunBatchMessage(Worker& worker, uint64_t& session,
                                std::string_view message) {
  return worker.batches.Run(message, session, worker.writer);
}

Outcome<size_t> RunReflectionMessage(Worker& worker, uint64_t&,
                                     std::string_view message) {
  return AnswerReflection(worker, message);
}

constexpr std::array kTable = {
    StreamMethod{"vfs.v1.VfsService", "Batch", &RunBatchMessage},
    StreamMethod{"grpc.reflection.v1alpha.ServerReflection",
                 "ServerReflectionInfo", &RunReflectionMessage},
};

}  // namespace

std::span<const StreamMethod> StreamMethods() { return kTable; }

}  // namespace vfsd::rpc
