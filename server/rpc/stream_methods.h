// The bidirectional streams of the service, as one table: each row runs one
// message and encodes its answer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "server/rpc/failure.h"
#include "server/rpc/worker.h"

namespace vfsd::rpc {

struct StreamMethod {
  std::string_view service;  // "vfs.v1.VfsService"
  std::string_view name;     // "Batch"
  // Writes the answer to worker.writer and returns how many operations the
  // message was; a failure ends the stream. session: the stream's, 0 before a
  // message named one.
  Outcome<size_t> (*run)(Worker& worker, uint64_t& session,
                         std::string_view message);
};

std::span<const StreamMethod> StreamMethods();

}  // namespace vfsd::rpc
