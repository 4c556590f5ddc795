// ServiceTest: a whole server in this process, spoken to over real sockets.
//
// Each test gets a server of its own and must leave it as it found it: when
// the sessions that it opened are closed, the live-object counts are those of
// the beginning.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/main/instance.h"
#include "server/rpc/server.h"
#include "server/vfs/live_objects.h"
#include "vfs/v1/admin.grpc.pb.h"
#include "vfs/v1/vfs.grpc.pb.h"

namespace vfsd::contract {

namespace v1 = ::vfs::v1;

// The reason of the ErrorInfo in a status' details ("ENOENT"); "" if there is
// none. The domain is checked.
std::string ReasonOf(const grpc::Status& status);

// The number that the API uses.
constexpr int32_t Number(Errno error) { return static_cast<int32_t>(error); }

class Service {
 public:
  struct Options {
    InstanceOptions instance;
    bool admin_service = true;
    int queues = 1;
  };
  explicit Service(Options options);
  ~Service();

  Instance& instance() { return *instance_; }
  rpc::Server& server() { return *server_; }
  // host:port
  const std::string& tcp_address() const { return server_->addresses()[0]; }
  // unix:PATH
  const std::string& unix_address() const { return server_->addresses()[1]; }
  std::shared_ptr<grpc::Channel> Connect(const std::string& address) const;

 private:
  std::string directory_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<rpc::Server> server_;
};

// The parameter: which fast paths are on.
class ServiceTest : public testing::TestWithParam<const char*> {
 protected:
  ServiceTest();
  ~ServiceTest() override;

  // For tests that want another server: replaces it.
  void Restart(const std::function<void(Service::Options&)>& change);

  Service& service() { return *service_; }
  v1::VfsService::Stub& stub() { return *stub_; }
  v1::AdminService::Stub& admin() { return *admin_; }
  std::shared_ptr<grpc::Channel> channel() { return channel_; }

  // A call with a deadline, so that a test that hangs fails.
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::VfsService::Stub::*method)(
                        grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return (stub_.get()->*method)(&context, request, response);
  }
  // The same where the answer does not matter, but that it is OK or its reason.
  template <typename Request, typename Response>
  std::string Reason(grpc::Status (v1::VfsService::Stub::*method)(
                         grpc::ClientContext*, const Request&, Response*),
                     const Request& request) {
    Response response;
    const grpc::Status status = Call(method, request, &response);
    return status.ok() ? "OK" : ReasonOf(status);
  }
  static void SetDeadline(grpc::ClientContext& context);

  // A session of root's; closed at the test's end.
  uint64_t OpenSession(bool errors_in_band = false);
  uint64_t OpenSession(const v1::OpenSessionRequest& request);
  void CloseSession(uint64_t session);

  // Steps of tests, on a session; they expect success.
  uint64_t Open(uint64_t session, const std::string& path, uint32_t flags = 0,
                uint32_t mode = 0);
  void Close(uint64_t session, uint64_t handle);
  void MakeDirectory(uint64_t session, const std::string& path);
  // Makes an empty regular file.
  void MakeFile(uint64_t session, const std::string& path);
  void Unlink(uint64_t session, const std::string& path, uint32_t flags = 0);
  v1::StatResponse Stat(uint64_t session, const std::string& path);

  // One message over a Batch stream of its own.
  grpc::Status RunBatch(const v1::BatchRequest& request,
                        v1::BatchResponse* response);

 private:
  void Start(Service::Options options);
  void Stop();
  Service::Options DefaultOptions() const;

  vfs::live_objects::Snapshot before_;
  std::unique_ptr<Service> service_;
  vfs::live_objects::Snapshot started_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::VfsService::Stub> stub_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::vector<uint64_t> sessions_;
};

#define VFSD_SERVICE_TESTS(suite)                                \
  INSTANTIATE_TEST_SUITE_P(                                      \
      FastPaths, suite, testing::Values("all", "none"),          \
      [](const testing::TestParamInfo<const char*>& parameter) { \
        return std::string(parameter.param);                     \
      })

// Calls without a stub: any bytes, any method ("/vfs.v1.VfsService/Stat").
grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel,
                     const std::string& method, const std::string& request,
                     std::string* response);
// A stream: one message out, one in, half-closed.
grpc::Status StreamRaw(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& method, const std::string& request,
                       std::string* response);

}  // namespace vfsd::contract
