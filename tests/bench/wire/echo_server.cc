// An echo service: what a unary call costs that does nothing. It has vfsd's
// transport options and vfsd's shape (one completion queue with one thread, a
// few calls waiting, places used again, raw messages), which was the best of
// those tried, and one method: "/vfsbench.Echo/Echo". Serves until its standard
// input ends.
//
// usage: wire_echo_server unix:PATH; prints the TCP address.
#include <fmt/format.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/support/async_unary_call.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include "server/rpc/call_places.h"
#include "server/rpc/server.h"
#include "server/rpc/transport_options.h"

namespace {

class EchoService final : public grpc::Service {
 public:
  EchoService() {
    AddMethod(new grpc::internal::RpcServiceMethod(
        "/vfsbench.Echo/Echo", grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRaw(0);
  }
  void Request(grpc::ServerContext* context, grpc::ByteBuffer* request,
               grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>* responder,
               grpc::ServerCompletionQueue* queue, void* tag) {
    grpc::Service::RequestAsyncUnary(0, context, request, responder, queue,
                                     queue, tag);
  }
};

class EchoCall {
 public:
  using Owner = vfsd::rpc::CallPlacesOwner<EchoCall>;

  EchoCall(Owner& owner, EchoService& service,
           grpc::ServerCompletionQueue& queue)
      : owner_(owner), service_(service), queue_(queue) {}

  void Post() {
    answering_ = false;
    responder_.reset();
    context_.emplace();
    responder_.emplace(&*context_);
    request_.Clear();
    service_.Request(&*context_, &request_, &*responder_, &queue_, this);
  }
  void Proceed(bool ok) {
    if (answering_) return owner_.Ended(*this);
    if (!ok) return;
    answering_ = true;
    owner_.Began(*this);
    responder_->Finish(request_, grpc::Status::OK, this);
  }

 private:
  Owner& owner_;
  EchoService& service_;
  grpc::ServerCompletionQueue& queue_;
  std::optional<grpc::ServerContext> context_;
  std::optional<grpc::ServerAsyncResponseWriter<grpc::ByteBuffer>> responder_;
  grpc::ByteBuffer request_;
  bool answering_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  EchoService service;
  grpc::ServerBuilder builder;
  builder.RegisterService(&service);
  constexpr uint32_t kMaxMessageBytes = 4 * 1024 * 1024;
  vfsd::rpc::SetTransportOptions(kMaxMessageBytes, builder);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.AddListeningPort(argv[1], grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::ServerCompletionQueue> queue =
      builder.AddCompletionQueue();
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  vfsd::rpc::CallPlaces<EchoCall> calls(
      vfsd::rpc::ServerOptions().calls_per_method, [&](EchoCall::Owner& owner) {
        return std::make_unique<EchoCall>(owner, service, *queue);
      });
  std::thread thread([&] {
    void* tag = nullptr;
    bool ok = false;
    while (queue->Next(&tag, &ok)) static_cast<EchoCall*>(tag)->Proceed(ok);
  });
  fmt::print("127.0.0.1:{}\n", port);
  std::fflush(stdout);
  char ignored[64];
  while (read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) {
  }
  // Nothing is worth saving.
  _exit(0);
}
