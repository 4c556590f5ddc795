// RawService: a generated service all of whose methods are asynchronous and
// raw: gRPC hands over encoded messages, and what they mean, and what is
// malformed, is decided here.
#pragma once

#include <google/protobuf/descriptor.h>
#include <grpcpp/impl/service_type.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>

namespace vfsd::rpc {

using RawUnaryResponder = grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>;
using RawStream =
    grpc::ServerAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>;
using RawWriter = grpc::ServerAsyncWriter<grpc::ByteBuffer>;

class RawService {
 public:
  virtual ~RawService() = default;

  virtual grpc::Service& service() = 0;
  virtual const google::protobuf::ServiceDescriptor& descriptor() const = 0;

  // Asks for the next call of a method; `tag` comes back when there is one.
  virtual void RequestUnary(int method, grpc::ServerContext* context,
                            grpc::ByteBuffer* request,
                            RawUnaryResponder* responder,
                            grpc::ServerCompletionQueue* queue, void* tag) = 0;
  virtual void RequestStream(int method, grpc::ServerContext* context,
                             RawStream* stream,
                             grpc::ServerCompletionQueue* queue, void* tag) = 0;
  virtual void RequestServerStream(int method, grpc::ServerContext* context,
                                   grpc::ByteBuffer* request, RawWriter* writer,
                                   grpc::ServerCompletionQueue* queue,
                                   void* tag) = 0;
};

// Generated: e.g. vfs::v1::VfsService.
template <typename Generated>
class RawServiceOf final : public RawService, private Generated::Service {
 public:
  explicit RawServiceOf(const google::protobuf::ServiceDescriptor& descriptor)
      : descriptor_(descriptor) {
    for (int method = 0; method < descriptor.method_count(); ++method)
      this->MarkMethodRaw(method);
  }

  grpc::Service& service() override { return *this; }
  const google::protobuf::ServiceDescriptor& descriptor() const override {
    return descriptor_;
  }

  void RequestUnary(int method, grpc::ServerContext* context,
                    grpc::ByteBuffer* request, RawUnaryResponder* responder,
                    grpc::ServerCompletionQueue* queue, void* tag) override {
    this->RequestAsyncUnary(method, context, request, responder, queue, queue,
                            tag);
  }
  void RequestStream(int method, grpc::ServerContext* context,
                     RawStream* stream, grpc::ServerCompletionQueue* queue,
                     void* tag) override {
    this->RequestAsyncBidiStreaming(method, context, stream, queue, queue, tag);
  }
  void RequestServerStream(int method, grpc::ServerContext* context,
                           grpc::ByteBuffer* request, RawWriter* writer,
                           grpc::ServerCompletionQueue* queue,
                           void* tag) override {
    this->RequestAsyncServerStreaming(method, context, request, writer, queue,
                                      queue, tag);
  }

 private:
  const google::protobuf::ServiceDescriptor& descriptor_;
};

}  // namespace vfsd::rpc
