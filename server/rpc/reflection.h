// grpc.reflection.v1alpha: tells tools what the server offers, from the
// descriptors that are linked in. Served on our own queues, as health is.
#pragma once

#include <string_view>

#include "server/rpc/failure.h"
#include "server/rpc/worker.h"

namespace vfsd::rpc {

// Writes the ServerReflectionResponse to one ServerReflectionRequest; returns 1
// (one operation).
Outcome<size_t> AnswerReflection(Worker& worker, std::string_view message);

}  // namespace vfsd::rpc
