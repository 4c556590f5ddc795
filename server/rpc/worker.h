// Worker: what the thread of one completion queue works with: buffers that are
// used again from call to call. Calls on the queue borrow it while they run.
//
// Thread safety: none; only its own thread touches it.
#pragma once

#include <google/protobuf/arena.h>

#include "server/rpc/backend.h"
#include "server/rpc/batch_runner.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/wire_writer.h"

namespace vfsd::rpc {

struct Worker {
  explicit Worker(Backend& on_backend)
      : backend(on_backend), batches(on_backend) {}

  Backend& backend;
  RequestDecoder decoder;
  WireWriter writer;
  // For the messages that are handled as objects (sessions, administration).
  google::protobuf::Arena arena;
  BatchRunner batches;
};

}  // namespace vfsd::rpc
