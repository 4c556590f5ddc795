#include "server/rpc/server.h"

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "grpc/health/v1/health.grpc.pb.h"
#include "grpc/reflection/v1alpha/reflection.grpc.pb.h"
#include "server/rpc/cpu_allowance.h"
#include "server/rpc/transport_options.h"
#include "vfs/v1/admin.grpc.pb.h"
#include "vfs/v1/vfs.grpc.pb.h"

namespace vfsd::rpc {
namespace {

// No call for so long while draining: there will be none.
constexpr auto kQuiet = std::chrono::milliseconds(100);
// Busy clients get DRAINING at least until they pause, at most for so long.
constexpr auto kRefusedQuiet = std::chrono::milliseconds(20);
constexpr auto kRefuseTime = std::chrono::milliseconds(500);
// For connections to say goodbye. A client that is idle may not even look at
// its connection for seconds, so this is short; nothing is under way then.
constexpr auto kGoodbyeTime = std::chrono::milliseconds(100);
constexpr auto kPollInterval = std::chrono::milliseconds(5);

// The service of the API that is declared in the same file as Message.
template <typename Generated, typename Message>
std::unique_ptr<RawService> MakeService(const char* name) {
  return std::make_unique<RawServiceOf<Generated>>(
      *Message::descriptor()->file()->FindServiceByName(name));
}

std::vector<CallMethod> MethodsOf(
    const std::vector<std::unique_ptr<RawService>>& services, size_t first) {
  std::vector<CallMethod> methods;
  for (size_t service = first; service < services.size(); ++service) {
    const google::protobuf::ServiceDescriptor& descriptor =
        services[service]->descriptor();
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
  // Ours is served below.
  grpc::EnableDefaultHealthCheckService(false);

  std::unique_ptr<Server> server(new Server(backend));
  std::vector<std::unique_ptr<RawService>>& services = server->services_;
  services.push_back(
      MakeService<::vfs::v1::VfsService, ::vfs::v1::OpenRequest>("VfsService"));
  if (options.admin_service) {
    services.push_back(
        MakeService<::vfs::v1::AdminService, ::vfs::v1::SetFastPathsRequest>(
            "AdminService"));
  }
  server->statistics_ =
      std::make_unique<CallStatistics>(MethodsOf(services, 0));
  const size_t standard = services.size();
  services.push_back(
      MakeService<::grpc::health::v1::Health,
                  ::grpc::health::v1::HealthCheckRequest>("Health"));
  services.push_back(
      MakeService<::grpc::reflection::v1alpha::ServerReflection,
                  ::grpc::reflection::v1alpha::ServerReflectionRequest>(
          "ServerReflection"));
  server->standard_statistics_ =
      std::make_unique<CallStatistics>(MethodsOf(services, standard));
  for (const std::unique_ptr<RawService>& service : services)
    server->service_names_.push_back(service->descriptor().full_name());

  grpc::ServerBuilder builder;
  for (const std::unique_ptr<RawService>& service : server->services_) {
    builder.RegisterService(&service->service());
  }
  SetTransportOptions(backend.limits.max_message_bytes, builder);

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
        builder.AddCompletionQueue(), backend, server->service_names_,
        options.slow_threshold));
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
  for (size_t i = 0; i < services.size(); ++i) {
    if (i == standard) first_index = 0;
    posted.push_back({services[i].get(),
                      i < standard ? server->statistics_.get()
                                   : server->standard_statistics_.get(),
                      first_index});
    first_index +=
        static_cast<size_t>(services[i]->descriptor().method_count());
  }
  for (const std::unique_ptr<CallQueue>& queue : server->queues_)
    queue->Start(posted, options.calls_per_method);
  return server;
}

Server::~Server() {
  if (server_ != nullptr) Shutdown(std::chrono::system_clock::now());
}

void Server::BeginDrain() {
  if (backend_.draining.exchange(true)) return;
  for (const std::unique_ptr<CallQueue>& queue : queues_) queue->Drain();
}

void Server::WaitForQuiet(
    std::chrono::milliseconds quiet,
    std::chrono::system_clock::time_point deadline) const {
  auto quiet_since = std::chrono::system_clock::now();
  for (;;) {
    const auto now = std::chrono::system_clock::now();
    if (statistics_->in_flight() != 0) quiet_since = now;
    if (now >= deadline || now - quiet_since >= quiet) return;
    std::this_thread::sleep_for(kPollInterval);
  }
}

void Server::Shutdown(std::chrono::system_clock::time_point deadline) {
  if (std::exchange(shut_down_, true)) return;
  BeginDrain();
  WaitForQuiet(kQuiet, deadline);
  // Once gRPC shuts down it drops calls that come without a word of ours.
  backend_.refusing = true;
  for (const std::unique_ptr<CallQueue>& queue : queues_) queue->EndWatches();
  WaitForQuiet(kRefusedQuiet, std::chrono::system_clock::now() + kRefuseTime);
  server_->Shutdown(std::chrono::system_clock::now() + kGoodbyeTime);
  for (const std::unique_ptr<CallQueue>& queue : queues_) queue->Stop();
}

}  // namespace vfsd::rpc
