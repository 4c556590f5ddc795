#include "server/rpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "server/rpc/cpu_allowance.h"
#include "vfs/v1/admin.grpc.pb.h"
#include "vfs/v1/vfs.grpc.pb.h"

namespace vfsd::rpc {
namespace {

// Beyond the limit that clients are told, so that what is a little too large
// gets a reason from us instead of a bare status from gRPC.
constexpr int kReceiveSlackBytes = 1024 * 1024;
// A connection holds no more calls at once; a client's further ones wait there.
constexpr int kMaxCallsPerConnection = 4096;
// Clients may keep idle connections alive with a ping in this time.
constexpr int kMinPingIntervalMilliseconds = 10'000;
// No call for so long while draining: there will be none.
constexpr auto kQuiet = std::chrono::milliseconds(100);
constexpr auto kPollInterval = std::chrono::milliseconds(5);

std::vector<CallMethod> MethodsOf(
    const std::vector<std::unique_ptr<RawService>>& services) {
  std::vector<CallMethod> methods;
  for (const std::unique_ptr<RawService>& service : services) {
    const google::protobuf::ServiceDescriptor& descriptor =
        service->descriptor();
    for (int i = 0; i < descriptor.method_count(); ++i) {
      methods.push_back(
          {.service = descriptor.full_name(),
           .name = descriptor.method(i)->name(),
           .streaming = descriptor.method(i)->client_streaming()});
    }
  }
  return methods;
}

}  // namespace

std::expected<std::unique_ptr<Server>, std::string> Server::Start(
    const ServerOptions& options, Backend& backend) {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  std::unique_ptr<Server> server(new Server(backend));
  server->services_.push_back(
      std::make_unique<RawServiceOf<::vfs::v1::VfsService>>(
          *::vfs::v1::OpenRequest::descriptor()->file()->FindServiceByName(
              "VfsService")));
  if (options.admin_service) {
    server->services_.push_back(
        std::make_unique<RawServiceOf<::vfs::v1::AdminService>>(
            *::vfs::v1::SetFastPathsRequest::descriptor()
                 ->file()
                 ->FindServiceByName("AdminService")));
  }
  server->statistics_ =
      std::make_unique<CallStatistics>(MethodsOf(server->services_));

  grpc::ServerBuilder builder;
  for (const std::unique_ptr<RawService>& service : server->services_) {
    builder.RegisterService(&service->service());
  }
  builder.SetMaxReceiveMessageSize(
      static_cast<int>(backend.limits.max_message_bytes) + kReceiveSlackBytes);
  builder.SetMaxSendMessageSize(-1);
  // Without this a second server could take over the port unnoticed.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                             kMaxCallsPerConnection);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      kMinPingIntervalMilliseconds);

  std::vector<int> ports(options.listen.size(), 0);
  for (size_t i = 0; i < options.listen.size(); ++i) {
    const ListenAddress& address = options.listen[i];
    if (const std::string why = address.WhyUnusable(); !why.empty()) {
      return std::unexpected("cannot listen on " + address.text() + ": " + why);
    }
    builder.AddListeningPort(address.text(), grpc::InsecureServerCredentials(),
                             &ports[i]);
  }
  const int queues =
      options.queues > 0 ? options.queues : std::max(1, CpuAllowance() / 2);
  for (int i = 0; i < queues; ++i) {
    server->queues_.push_back(std::make_unique<CallQueue>(
        builder.AddCompletionQueue(), backend, options.slow_threshold));
  }
  server->server_ = builder.BuildAndStart();
  if (server->server_ == nullptr) {
    std::string failed;
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i] == 0) failed += " " + options.listen[i].text();
    }
    return std::unexpected("cannot listen on" + failed);
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    server->addresses_.push_back(
        options.listen[i].TextWithPort(static_cast<uint16_t>(ports[i])));
  }

  std::vector<PostedService> posted;
  size_t first_index = 0;
  for (const std::unique_ptr<RawService>& service : server->services_) {
    posted.push_back({service.get(), first_index});
    first_index += static_cast<size_t>(service->descriptor().method_count());
  }
  for (const std::unique_ptr<CallQueue>& queue : server->queues_) {
    queue->Start(posted, *server->statistics_, options.calls_per_method);
  }
  return server;
}

Server::~Server() {
  if (server_ != nullptr) Shutdown(std::chrono::system_clock::now());
}

void Server::BeginDrain() {
  if (backend_.draining.exchange(true)) return;
  server_->GetHealthCheckService()->SetServingStatus(false);
  for (const std::unique_ptr<CallQueue>& queue : queues_) queue->Drain();
}

void Server::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (std::exchange(shut_down_, true)) return;
  BeginDrain();
  auto quiet_since = std::chrono::system_clock::now();
  for (;;) {
    const auto now = std::chrono::system_clock::now();
    if (statistics_->in_flight() != 0) quiet_since = now;
    if (now >= deadline || now - quiet_since >= kQuiet) break;
    std::this_thread::sleep_for(kPollInterval);
  }
  server_->Shutdown(deadline);
  for (const std::unique_ptr<CallQueue>& queue : queues_) queue->Stop();
}

}  // namespace vfsd::rpc
