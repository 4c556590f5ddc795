// UnaryLoad: unary calls of one method, some in flight over some connections,
// from one thread with raw messages: the same client for every service that is
// compared.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace wirebench {

class UnaryLoad {
 public:
  struct Plan {
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    std::string method;  // "/vfs.v1.VfsService/Stat"
    // Sent in turn.
    std::vector<grpc::ByteBuffer> requests;
    size_t in_flight = 64;
    // What an answer must be. The program ends where it is not.
    grpc::StatusCode code = grpc::StatusCode::OK;
    // Sees each reply; may be empty.
    std::function<void(grpc::ByteBuffer& reply)> reply;
  };

  explicit UnaryLoad(Plan plan);
  ~UnaryLoad();

  // Calls until the time is over or `most` calls are made; returns how many.
  uint64_t Run(std::chrono::nanoseconds duration, uint64_t most);
  // One call at a time; appends how long each took, in nanoseconds.
  void RunOneByOne(uint64_t calls, std::vector<double>& latencies);

 private:
  struct Call {
    std::optional<grpc::ClientContext> context;
    std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
    grpc::ByteBuffer reply;
    grpc::Status status;
    size_t channel = 0;
  };

  void Start(Call& call);
  Call& Next();

  const Plan plan_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  std::vector<std::unique_ptr<Call>> calls_;
  size_t next_request_ = 0;
};

grpc::ByteBuffer ToByteBuffer(const std::string& bytes);

}  // namespace wirebench
