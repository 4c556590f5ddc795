// A stream of batches, pipelined: send some, then take their answers in order.
//
// The server answers the messages of a stream in their order, so the n-th
// Receive belongs to the n-th Send. A sender that never receives will in the
// end be held up by flow control: keep a bounded number under way (4 to 8 is
// enough to fill a link). One thread may send while another receives. Made by
// Session::OpenBatchStream; must be destroyed before its session. Destroying it
// abandons what is still under way.
#ifndef CLIENT_LIB_BATCH_STREAM_H_
#define CLIENT_LIB_BATCH_STREAM_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/sync_stream.h>

#include <cstdint>
#include <expected>
#include <memory>

#include "client/lib/batch.h"
#include "client/lib/error.h"
#include "vfs/v1/vfs.grpc.pb.h"

namespace vfsclient {

class BatchStream {
 public:
  BatchStream(vfs::v1::VfsService::Stub& stub, uint64_t session);
  BatchStream(const BatchStream&) = delete;
  BatchStream& operator=(const BatchStream&) = delete;
  ~BatchStream();

  // Sets the batch's session. The batch may be reused at once. On an error the
  // stream has ended; Receive tells why.
  std::expected<void, Error> Send(Batch* batch);
  // The answer to the oldest message that has none yet: one result for each
  // operation. An error means that the stream has ended.
  std::expected<vfs::v1::BatchResponse, Error> Receive();
  // Send and Receive.
  std::expected<vfs::v1::BatchResponse, Error> Run(Batch* batch);
  // Says that no more will be sent and waits for the stream's end; what was not
  // received is dropped.
  std::expected<void, Error> Finish();

 private:
  Error EndOfStream();

  const uint64_t session_;
  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<vfs::v1::BatchRequest, vfs::v1::BatchResponse>>
      stream_;
  bool finished_ = false;
  grpc::Status status_;  // valid once finished_
};

}  // namespace vfsclient

#endif  // CLIENT_LIB_BATCH_STREAM_H_
