// A vfs.v1 server in the test's own process that answers what the test says.
//
// One function answers operations, unary or batched; another one may fail calls
// with a gRPC status. It is no file system: what it tests is how clients take
// answers. Owned by the test; the functions are called from gRPC's threads.
#ifndef TESTS_UNIT_CLIENT_FAKE_SERVER_H_
#define TESTS_UNIT_CLIENT_FAKE_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "vfs/v1/vfs.grpc.pb.h"

class FakeServer final : public vfs::v1::VfsService::Service {
 public:
  using Answer =
      std::function<vfs::v1::BatchResult(const vfs::v1::BatchOperation&)>;
  using Fail = std::function<grpc::Status()>;

  FakeServer();
  ~FakeServer() override;

  // "127.0.0.1:41234".
  const std::string& address() const { return address_; }
  // Ends it as if it had been killed.
  void Stop();

  // Set before the first call.
  Answer answer;
  Fail fail;
  vfs::v1::OpenSessionResponse session;
  // A unary Open that fails does so with a status, not in band.
  bool open_errors_as_status = false;

  std::atomic<int> open_sessions{0};
  std::atomic<int> keep_alives{0};

  grpc::Status OpenSession(grpc::ServerContext*,
                           const vfs::v1::OpenSessionRequest*,
                           vfs::v1::OpenSessionResponse*) override;
  grpc::Status KeepAlive(grpc::ServerContext*, const vfs::v1::KeepAliveRequest*,
                         vfs::v1::KeepAliveResponse*) override;
  grpc::Status CloseSession(grpc::ServerContext*,
                            const vfs::v1::CloseSessionRequest*,
                            vfs::v1::CloseSessionResponse*) override;
  grpc::Status Open(grpc::ServerContext*, const vfs::v1::OpenRequest*,
                    vfs::v1::OpenResponse*) override;
  grpc::Status Close(grpc::ServerContext*, const vfs::v1::CloseRequest*,
                     vfs::v1::CloseResponse*) override;
  grpc::Status Stat(grpc::ServerContext*, const vfs::v1::StatRequest*,
                    vfs::v1::StatResponse*) override;
  grpc::Status Access(grpc::ServerContext*, const vfs::v1::AccessRequest*,
                      vfs::v1::AccessResponse*) override;
  grpc::Status Read(grpc::ServerContext*, const vfs::v1::ReadRequest*,
                    vfs::v1::ReadResponse*) override;
  grpc::Status ReadDirectory(grpc::ServerContext*,
                             const vfs::v1::ReadDirectoryRequest*,
                             vfs::v1::ReadDirectoryResponse*) override;
  grpc::Status Batch(grpc::ServerContext*,
                     grpc::ServerReaderWriter<vfs::v1::BatchResponse,
                                              vfs::v1::BatchRequest>*) override;

 private:
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

// A status that carries a google.rpc.ErrorInfo with this reason.
grpc::Status StatusWithReason(grpc::StatusCode code, const std::string& reason,
                              const std::string& domain = "vfs.v1");

#endif  // TESTS_UNIT_CLIENT_FAKE_SERVER_H_
