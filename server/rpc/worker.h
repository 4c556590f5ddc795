// Worker: what the thread of one completion queue works with: buffers that are
// used again from call to call. Calls on the queue borrow it while they run.
//
// Thread safety: none; only its own thread touches it.
#pragma once

#include <google/protobuf/arena.h>

#include <string>
#include <vector>

#include "server/rpc/backend.h"
#include "server/rpc/batch_runner.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/wire_writer.h"

namespace vfsd::rpc {

// Full names of the services that the server has: what health and reflection
// tell of.
using ServiceNames = std::vector<std::string>;

struct Worker {
  Worker(Backend& on_backend, const ServiceNames& all_services)
      : backend(on_backend), services(all_services), batches(on_backend) {}

  Backend& backend;
  const ServiceNames& services;
  RequestDecoder decoder;
  WireWriter writer;
  // For the messages that are handled as objects (sessions, administration).
  google::protobuf::Arena arena;
  BatchRunner batches;
  // Bytes of large answers to unary calls that gRPC has not sent yet.
  size_t unsent_bytes = 0;
};

}  // namespace vfsd::rpc
