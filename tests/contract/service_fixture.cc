#include "tests/contract/service_fixture.h"

#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/credentials.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "server/sync/rcu.h"
#include "server/vfs/linux_abi.h"

namespace vfsd::contract {
namespace {

constexpr auto kDeadline = std::chrono::seconds(60);

ListenAddress Address(const std::string& text) {
  return ListenAddress::Parse(text).value();
}

}  // namespace

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status details;
  google::rpc::ErrorInfo info;
  if (!details.ParseFromString(status.error_details()) ||
      details.details_size() != 1 || !details.details(0).UnpackTo(&info)) {
    return "";
  }
  EXPECT_EQ(info.domain(), "vfs.v1");
  EXPECT_EQ(details.code(), status.error_code());
  EXPECT_EQ(details.message(), status.error_message());
  return info.reason();
}

Service::Service(Options options) {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "vfsd-contract-XXXXXX")
          .string();
  if (mkdtemp(pattern.data()) == nullptr)
    throw std::runtime_error("mkdtemp: " + pattern);
  directory_ = pattern;
  std::expected<std::unique_ptr<Instance>, std::string> instance =
      Instance::Create(options.instance);
  if (!instance.has_value()) throw std::runtime_error(instance.error());
  instance_ = *std::move(instance);
  rpc::ServerOptions server_options;
  server_options.listen = {Address("127.0.0.1:0"),
                           Address("unix:" + directory_ + "/socket")};
  server_options.admin_service = options.admin_service;
  server_options.queues = options.queues;
  std::expected<std::unique_ptr<rpc::Server>, std::string> server =
      rpc::Server::Start(server_options, instance_->backend());
  if (!server.has_value()) throw std::runtime_error(server.error());
  server_ = *std::move(server);
}

Service::~Service() {
  server_.reset();
  instance_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::shared_ptr<grpc::Channel> Service::Connect(
    const std::string& address) const {
  grpc::ChannelArguments arguments;
  // A connection of its own for each channel.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                   arguments);
}

namespace {

// Once all that was retired, by this test or an earlier one, is gone.
vfs::live_objects::Snapshot SettledObjects() {
  sync::RcuBarrier();
  return vfs::live_objects::TakeSnapshot();
}

}  // namespace

ServiceTest::ServiceTest() : before_(SettledObjects()) {
  Start(DefaultOptions());
}

ServiceTest::~ServiceTest() {
  Stop();
  EXPECT_EQ(SettledObjects(), before_);
}

Service::Options ServiceTest::DefaultOptions() const {
  Service::Options options;
  options.instance.vfs.fast_paths = vfs::FastPathSet::Parse(GetParam()).value();
  options.instance.anonymous =
      std::make_shared<const vfs::Credentials>(65534, 65534);
  return options;
}

void ServiceTest::Restart(
    const std::function<void(Service::Options&)>& change) {
  Stop();
  Service::Options options = DefaultOptions();
  change(options);
  Start(std::move(options));
}

void ServiceTest::Start(Service::Options options) {
  service_ = std::make_unique<Service>(std::move(options));
  started_ = SettledObjects();
  channel_ = service_->Connect(service_->tcp_address());
  stub_ = v1::VfsService::NewStub(channel_);
  admin_ = v1::AdminService::NewStub(channel_);
}

void ServiceTest::Stop() {
  for (const uint64_t session : std::exchange(sessions_, {})) {
    v1::CloseSessionRequest request;
    request.set_session(session);
    v1::CloseSessionResponse response;
    Call(&v1::VfsService::Stub::CloseSession, request, &response);
  }
  EXPECT_EQ(SettledObjects(), started_);
  EXPECT_EQ(service_->instance().sessions().open_handles(), 0u);
  EXPECT_EQ(service_->instance().vfs().files.nr_files(), 0);
  stub_.reset();
  admin_.reset();
  channel_.reset();
  service_.reset();
}

void ServiceTest::SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
}

uint64_t ServiceTest::OpenSession(bool errors_in_band) {
  v1::OpenSessionRequest request;
  request.mutable_credentials()->set_uid(0);
  request.set_errors_in_band(errors_in_band);
  return OpenSession(request);
}

uint64_t ServiceTest::OpenSession(const v1::OpenSessionRequest& request) {
  v1::OpenSessionResponse response;
  const grpc::Status status =
      Call(&v1::VfsService::Stub::OpenSession, request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_NE(response.session(), 0u);
  sessions_.push_back(response.session());
  return response.session();
}

void ServiceTest::CloseSession(uint64_t session) {
  v1::CloseSessionRequest request;
  request.set_session(session);
  EXPECT_EQ(Reason(&v1::VfsService::Stub::CloseSession, request), "OK");
}

uint64_t ServiceTest::Open(uint64_t session, const std::string& path,
                           uint32_t flags, uint32_t mode) {
  v1::OpenRequest request;
  request.set_session(session);
  request.set_path(path);
  request.set_flags(flags);
  request.set_mode(mode);
  v1::OpenResponse response;
  const grpc::Status status =
      Call(&v1::VfsService::Stub::Open, request, &response);
  EXPECT_TRUE(status.ok()) << path << ": " << status.error_message();
  EXPECT_EQ(response.errno_code(), 0) << path;
  EXPECT_NE(response.handle(), 0u);
  return response.handle();
}

void ServiceTest::Close(uint64_t session, uint64_t handle) {
  v1::CloseRequest request;
  request.set_session(session);
  request.set_handle(handle);
  EXPECT_EQ(Reason(&v1::VfsService::Stub::Close, request), "OK");
}

void ServiceTest::MakeDirectory(uint64_t session, const std::string& path) {
  v1::MakeDirectoryRequest request;
  request.set_session(session);
  request.set_path(path);
  request.set_mode(0755);
  EXPECT_EQ(Reason(&v1::VfsService::Stub::MakeDirectory, request), "OK");
}

void ServiceTest::MakeFile(uint64_t session, const std::string& path) {
  Close(session,
        Open(session, path, vfs::linux_abi::kOCreat | vfs::linux_abi::kOWrOnly,
             0644));
}

void ServiceTest::Unlink(uint64_t session, const std::string& path,
                         uint32_t flags) {
  v1::UnlinkRequest request;
  request.set_session(session);
  request.set_path(path);
  request.set_flags(flags);
  EXPECT_EQ(Reason(&v1::VfsService::Stub::Unlink, request), "OK");
}

v1::StatResponse ServiceTest::Stat(uint64_t session, const std::string& path) {
  v1::StatRequest request;
  request.set_session(session);
  request.set_path(path);
  request.set_mask(vfs::linux_abi::kStatxBasicStats);
  v1::StatResponse response;
  const grpc::Status status =
      Call(&v1::VfsService::Stub::Stat, request, &response);
  EXPECT_TRUE(status.ok()) << path << ": " << status.error_message();
  return response;
}

grpc::Status ServiceTest::RunBatch(const v1::BatchRequest& request,
                                   v1::BatchResponse* response) {
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub_->Batch(&context);
  stream->Write(request);
  stream->WritesDone();
  if (stream->Read(response)) {
    v1::BatchResponse another;
    EXPECT_FALSE(stream->Read(&another));
  }
  return stream->Finish();
}

namespace {

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Valid() || !buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// Runs operations of one call one after the other.
class Steps {
 public:
  ~Steps() {
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  grpc::CompletionQueue* queue() { return &queue_; }
  // Waits for the operation that was begun; whether it succeeded.
  bool Wait() {
    void* tag;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

 private:
  grpc::CompletionQueue queue_;
};

}  // namespace

grpc::Status CallRaw(const std::shared_ptr<grpc::Channel>& channel,
                     const std::string& method, const std::string& request,
                     std::string* response) {
  grpc::GenericStub stub(channel);
  Steps steps;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto call =
      stub.PrepareUnaryCall(&context, method, ToBuffer(request), steps.queue());
  call->StartCall();
  grpc::ByteBuffer buffer;
  grpc::Status status;
  call->Finish(&buffer, &status, nullptr);
  steps.Wait();
  *response = ToString(buffer);
  return status;
}

grpc::Status StreamRaw(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& method, const std::string& request,
                       std::string* response) {
  grpc::GenericStub stub(channel);
  Steps steps;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const auto call = stub.PrepareCall(&context, method, steps.queue());
  call->StartCall(nullptr);
  steps.Wait();
  call->Write(ToBuffer(request), nullptr);
  steps.Wait();
  call->WritesDone(nullptr);
  steps.Wait();
  grpc::ByteBuffer buffer;
  call->Read(&buffer, nullptr);
  if (steps.Wait()) *response = ToString(buffer);
  grpc::Status status;
  call->Finish(&status, nullptr);
  steps.Wait();
  return status;
}

}  // namespace vfsd::contract
