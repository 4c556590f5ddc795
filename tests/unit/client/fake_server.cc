#include "tests/unit/client/fake_server.h"

#include <fmt/format.h>

#include <chrono>

#include "client/lib/errno_table.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

using vfs::v1::BatchOperation;
using vfs::v1::BatchResult;

FakeServer::FakeServer() {
  answer = [](const BatchOperation&) { return BatchResult(); };
  fail = [] { return grpc::Status::OK; };
  session.set_session(0x5e551011);
  session.set_session_number(7);
  session.set_lease_milliseconds(60'000);
  session.set_max_handles(1024);
  session.set_max_batch_operations(10'000);
  session.set_max_message_bytes(4 << 20);
  session.set_server_version("0.0.0-fake");
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                           &port);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  address_ = fmt::format("127.0.0.1:{}", port);
}

FakeServer::~FakeServer() { Stop(); }

void FakeServer::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
}

grpc::Status FakeServer::OpenSession(grpc::ServerContext*,
                                     const vfs::v1::OpenSessionRequest*,
                                     vfs::v1::OpenSessionResponse* response) {
  if (auto status = fail(); !status.ok()) return status;
  ++open_sessions;
  *response = session;
  return grpc::Status::OK;
}

grpc::Status FakeServer::KeepAlive(grpc::ServerContext*,
                                   const vfs::v1::KeepAliveRequest*,
                                   vfs::v1::KeepAliveResponse*) {
  ++keep_alives;
  return grpc::Status::OK;
}

grpc::Status FakeServer::CloseSession(grpc::ServerContext*,
                                      const vfs::v1::CloseSessionRequest*,
                                      vfs::v1::CloseSessionResponse*) {
  --open_sessions;
  return grpc::Status::OK;
}

grpc::Status FakeServer::Open(grpc::ServerContext*,
                              const vfs::v1::OpenRequest* request,
                              vfs::v1::OpenResponse* response) {
  if (auto status = fail(); !status.ok()) return status;
  BatchOperation operation;
  *operation.mutable_open() = *request;
  const BatchResult result = answer(operation);
  if (open_errors_as_status && result.errno_code() != 0) {
    return StatusWithReason(grpc::StatusCode::NOT_FOUND,
                            vfsclient::ErrnoName(result.errno_code()));
  }
  *response = result.open();
  response->set_errno_code(result.errno_code());
  return grpc::Status::OK;
}

grpc::Status FakeServer::Close(grpc::ServerContext*,
                               const vfs::v1::CloseRequest* request,
                               vfs::v1::CloseResponse* response) {
  if (auto status = fail(); !status.ok()) return status;
  BatchOperation operation;
  *operation.mutable_close() = *request;
  response->set_errno_code(answer(operation).errno_code());
  return grpc::Status::OK;
}

grpc::Status FakeServer::Stat(grpc::ServerContext*,
                              const vfs::v1::StatRequest* request,
                              vfs::v1::StatResponse* response) {
  if (auto status = fail(); !status.ok()) return status;
  BatchOperation operation;
  *operation.mutable_stat() = *request;
  const BatchResult result = answer(operation);
  *response = result.stat();
  response->set_errno_code(result.errno_code());
  return grpc::Status::OK;
}

grpc::Status FakeServer::Access(grpc::ServerContext*,
                                const vfs::v1::AccessRequest* request,
                                vfs::v1::AccessResponse* response) {
  if (auto status = fail(); !status.ok()) return status;
  BatchOperation operation;
  *operation.mutable_access() = *request;
  response->set_errno_code(answer(operation).errno_code());
  return grpc::Status::OK;
}

grpc::Status FakeServer::Read(grpc::ServerContext*,
                              const vfs::v1::ReadRequest* request,
                              vfs::v1::ReadResponse* response) {
  if (auto status = fail(); !status.ok()) return status;
  BatchOperation operation;
  *operation.mutable_read() = *request;
  const BatchResult result = answer(operation);
  *response = result.read();
  response->set_errno_code(result.errno_code());
  return grpc::Status::OK;
}

grpc::Status FakeServer::ReadDirectory(
    grpc::ServerContext*, const vfs::v1::ReadDirectoryRequest* request,
    vfs::v1::ReadDirectoryResponse* response) {
  if (auto status = fail(); !status.ok()) return status;
  BatchOperation operation;
  *operation.mutable_read_directory() = *request;
  const BatchResult result = answer(operation);
  *response = result.read_directory();
  response->set_errno_code(result.errno_code());
  return grpc::Status::OK;
}

grpc::Status FakeServer::Batch(
    grpc::ServerContext*,
    grpc::ServerReaderWriter<vfs::v1::BatchResponse, vfs::v1::BatchRequest>*
        stream) {
  vfs::v1::BatchRequest request;
  while (stream->Read(&request)) {
    if (auto status = fail(); !status.ok()) return status;
    vfs::v1::BatchResponse response;
    for (const BatchOperation& operation : request.operations()) {
      *response.add_results() = answer(operation);
    }
    stream->Write(response);
  }
  return grpc::Status::OK;
}

grpc::Status StatusWithReason(grpc::StatusCode code, const std::string& reason,
                              const std::string& domain) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  info.set_domain(domain);
  google::rpc::Status status;
  status.set_code(code);
  status.set_message("as the server words it");
  status.add_details()->PackFrom(info);
  return {code, "as the server words it", status.SerializeAsString()};
}
