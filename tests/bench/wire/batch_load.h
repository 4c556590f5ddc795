// BatchLoad: messages of a Batch stream, a window of them under way, from one
// thread. Each message is put together, encoded, decoded and looked through
// with the generated classes, as a client would: nothing is prepared but the
// paths.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "client/lib/batch.h"
#include "vfs/v1/vfs.grpc.pb.h"

namespace wirebench {

struct BatchMessage {
  // Fills an empty batch; returns how many operations.
  std::function<uint64_t(vfsclient::Batch& batch)> build;
  // True: every answer is the right one.
  std::function<bool(const vfs::v1::BatchResponse& response)> check;
};

class BatchLoad {
 public:
  BatchLoad(const std::shared_ptr<grpc::Channel>& channel, uint64_t session,
            BatchMessage message, size_t window);
  ~BatchLoad();

  // Returns how many operations were answered; the program ends at a wrong one.
  uint64_t Run(std::chrono::nanoseconds duration);

 private:
  enum Event : intptr_t { kStarted = 1, kWritten, kRead, kFinished };

  Event Next();
  void Send();

  const BatchMessage message_;
  const size_t window_;
  const uint64_t session_;
  std::unique_ptr<vfs::v1::VfsService::Stub> stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<vfs::v1::BatchRequest,
                                                vfs::v1::BatchResponse>>
      stream_;
  vfsclient::Batch batch_;
  vfs::v1::BatchResponse response_;
  uint64_t operations_ = 0;  // of a message
};

}  // namespace wirebench
