// MessageStream: a place for one bidirectional stream at a time: reads
// messages, runs each and writes its answer, in order.
//
// Flow: the next message is read while the answer before it is on its way, and
// run when that answer has been accepted by the transport. So a stream holds at
// most one message and one answer, and a client that does not read its answers
// is not served further ones; gRPC's flow control holds the rest back.
//
// Owned by its CallQueue; only the queue's thread touches it.
#pragma once

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>

#include <cstdint>
#include <optional>

#include "server/rpc/call_places.h"
#include "server/rpc/call_record.h"
#include "server/rpc/completion_tag.h"
#include "server/rpc/raw_service.h"
#include "server/rpc/stream_methods.h"
#include "server/rpc/worker.h"

namespace vfsd::rpc {

class MessageStream {
 public:
  using Owner = CallPlacesOwner<MessageStream>;

  MessageStream(Owner& owner, RawService& service, int method_index,
                const StreamMethod& method, CallRecord record,
                SlowLog& slow_log, Worker& worker,
                grpc::ServerCompletionQueue& queue);

  // Waits for a stream.
  void Post();
  // The server is draining: a stream that is idle ends now, another one after
  // the message that it is at.
  void Drain();

 private:
  void OnArrived(bool ok);
  void OnRead(bool ok);
  void OnWritten(bool ok);
  void OnFinished(bool ok);

  void Read();
  void RunMessage();
  void Finish(const grpc::Status& status);
  void EndIfFree();

  Owner& owner_;
  RawService& service_;
  const int method_index_;
  const StreamMethod& method_;
  CallRecord record_;
  SlowLog& slow_log_;
  Worker& worker_;
  grpc::ServerCompletionQueue& queue_;

  // Of the stream that is under way.
  std::optional<grpc::ServerContext> context_;
  std::optional<RawStream> stream_;
  grpc::ByteBuffer message_;
  uint64_t session_ = 0;    // the stream's, once its first message named it
  size_t answer_size_ = 0;  // of the last answer: the next is about as large
  bool began_ = false;
  bool reading_ = false;  // operations that gRPC has not ended yet
  bool writing_ = false;
  bool finishing_ = false;  // Finish was called
  bool finished_ = false;
  bool has_message_ = false;  // read, not yet run
  bool half_closed_ = false;  // the client sends no more

  MemberTag<MessageStream> arrived_tag_{this, &MessageStream::OnArrived};
  MemberTag<MessageStream> read_tag_{this, &MessageStream::OnRead};
  MemberTag<MessageStream> written_tag_{this, &MessageStream::OnWritten};
  MemberTag<MessageStream> finished_tag_{this, &MessageStream::OnFinished};
};

}  // namespace vfsd::rpc
