// The unary methods of the service, as one table: each row decodes a request,
// runs it and encodes the response.
#pragma once

#include <span>
#include <string_view>

#include "server/rpc/failure.h"
#include "server/rpc/worker.h"

namespace vfsd::rpc {

struct UnaryMethod {
  std::string_view service;  // "vfs.v1.VfsService"
  std::string_view name;     // "Stat"
  // Writes the response to worker.writer; on a failure what it wrote is
  // dropped.
  Outcome<void> (*run)(Worker& worker, std::string_view request);
  // Not served any more when the server has all but shut down.
  bool refusable = true;
};

std::span<const UnaryMethod> UnaryMethods();

}  // namespace vfsd::rpc
