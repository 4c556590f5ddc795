// Sessions: OpenSession, KeepAlive, CloseSession, leases, limits, credentials.
#include <gmock/gmock.h>

#include <chrono>
#include <thread>

#include "server/base/build_info.h"
#include "server/vfs/linux_abi.h"
#include "tests/contract/service_fixture.h"

namespace vfsd::contract {
namespace {

using Stub = v1::VfsService::Stub;

class SessionTest : public ServiceTest {};
VFSD_SERVICE_TESTS(SessionTest);

TEST_P(SessionTest, OpenSessionTellsTheLimitsInForce) {
  v1::OpenSessionRequest request;
  request.set_client_name("contract");
  request.set_lease_milliseconds(5000);
  v1::OpenSessionResponse response;
  ASSERT_TRUE(Call(&Stub::OpenSession, request, &response).ok());
  EXPECT_NE(response.session(), 0u);
  EXPECT_NE(response.session_number(), 0u);
  EXPECT_EQ(response.lease_milliseconds(), 5000u);
  EXPECT_NE(response.boot_epoch(), 0u);
  EXPECT_EQ(response.max_handles(), 65536u);
  EXPECT_EQ(response.max_batch_operations(), 10'000u);
  EXPECT_EQ(response.max_message_bytes(), 4u * 1024 * 1024);
  EXPECT_GT(response.remembered_answers(), 0u);
  EXPECT_EQ(response.server_version(), build_info::Version());
  CloseSession(response.session());
}

TEST_P(SessionTest, LeasesAreClampedAndDefaulted) {
  const auto lease_for = [&](uint32_t wanted) {
    v1::OpenSessionRequest request;
    request.set_lease_milliseconds(wanted);
    v1::OpenSessionResponse response;
    EXPECT_TRUE(Call(&Stub::OpenSession, request, &response).ok());
    CloseSession(response.session());
    return response.lease_milliseconds();
  };
  EXPECT_EQ(lease_for(0), 60'000u);
  EXPECT_EQ(lease_for(1), 1000u);
  EXPECT_EQ(lease_for(UINT32_MAX), 24u * 3600 * 1000);
}

TEST_P(SessionTest, SessionsHaveDifferentNamesAndNumbers) {
  v1::OpenSessionResponse a;
  v1::OpenSessionResponse b;
  ASSERT_TRUE(Call(&Stub::OpenSession, v1::OpenSessionRequest(), &a).ok());
  ASSERT_TRUE(Call(&Stub::OpenSession, v1::OpenSessionRequest(), &b).ok());
  EXPECT_NE(a.session(), b.session());
  EXPECT_NE(a.session_number(), b.session_number());
  EXPECT_EQ(a.boot_epoch(), b.boot_epoch());
  CloseSession(a.session());
  CloseSession(b.session());
}

TEST_P(SessionTest, KeepAliveTellsTheLease) {
  const uint64_t session = OpenSession();
  v1::KeepAliveRequest request;
  request.set_session(session);
  v1::KeepAliveResponse response;
  ASSERT_TRUE(Call(&Stub::KeepAlive, request, &response).ok());
  EXPECT_EQ(response.lease_milliseconds(), 60'000u);
  request.set_session(session + 1);
  EXPECT_EQ(Reason(&Stub::KeepAlive, request), "SESSION_EXPIRED");
  request.set_session(0);
  EXPECT_EQ(Reason(&Stub::KeepAlive, request), "SESSION_REQUIRED");
}

TEST_P(SessionTest, CloseSessionClosesHandlesAndIsFinal) {
  const uint64_t session = OpenSession();
  Open(session, "/");
  Open(session, "/proc/version");
  v1::CloseSessionRequest request;
  request.set_session(session);
  v1::CloseSessionResponse response;
  ASSERT_TRUE(Call(&Stub::CloseSession, request, &response).ok());
  EXPECT_EQ(response.closed_handles(), 2u);

  v1::StatRequest stat;
  stat.set_session(session);
  stat.set_path("/");
  v1::StatResponse answer;
  const grpc::Status status = Call(&Stub::Stat, stat, &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(ReasonOf(status), "SESSION_EXPIRED");
  EXPECT_EQ(Reason(&Stub::CloseSession, request), "SESSION_EXPIRED");
}

TEST_P(SessionTest, LapsedLeaseEndsTheSessionAndItsHandles) {
  Restart([](Service::Options& options) {
    options.instance.sessions.min_lease = absl::Milliseconds(200);
    options.instance.reap_interval = absl::Milliseconds(20);
  });
  v1::OpenSessionRequest request;
  request.mutable_credentials();
  request.set_lease_milliseconds(200);
  v1::OpenSessionResponse opened;
  ASSERT_TRUE(Call(&Stub::OpenSession, request, &opened).ok());
  Open(opened.session(), "/");
  // Counted a moment after it is gone.
  while (service().instance().sessions().size() != 0 ||
         service().instance().sessions().expired_total() == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(service().instance().sessions().open_handles(), 0u);
  EXPECT_EQ(service().instance().sessions().expired_total(), 1u);
  v1::KeepAliveRequest keep_alive;
  keep_alive.set_session(opened.session());
  EXPECT_EQ(Reason(&Stub::KeepAlive, keep_alive), "SESSION_EXPIRED");
}

TEST_P(SessionTest, TooManySessions) {
  Restart([](Service::Options& options) {
    options.instance.sessions.max_sessions = 2;
  });
  const uint64_t first = OpenSession();
  OpenSession();
  v1::OpenSessionResponse response;
  const grpc::Status status =
      Call(&Stub::OpenSession, v1::OpenSessionRequest(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "SESSION_LIMIT");
  CloseSession(first);
  OpenSession();
}

TEST_P(SessionTest, BadClientNamesAndGroups) {
  v1::OpenSessionRequest request;
  request.set_client_name("line\nbreak");
  EXPECT_EQ(Reason(&Stub::OpenSession, request), "EINVAL");
  request.set_client_name(std::string(65, 'x'));
  EXPECT_EQ(Reason(&Stub::OpenSession, request), "EINVAL");
  request.set_client_name(std::string(64, 'x'));
  for (int i = 0; i < 65'537; ++i) request.mutable_credentials()->add_groups(1);
  EXPECT_EQ(Reason(&Stub::OpenSession, request), "EINVAL");
  request.set_errors_in_band(true);
  v1::OpenSessionResponse response;
  ASSERT_TRUE(Call(&Stub::OpenSession, request, &response).ok());
  EXPECT_EQ(response.errno_code(), Number(Errno::kEINVAL));
  EXPECT_EQ(response.session(), 0u);
}

TEST_P(SessionTest, UmaskIsTheSessions) {
  v1::OpenSessionRequest request;
  request.mutable_credentials();
  request.set_umask(07077);  // bits beyond 0777 are ignored
  const uint64_t session = OpenSession(request);
  const uint64_t by_default = OpenSession();
  Close(session, Open(session, "/tight", vfs::linux_abi::kOCreat, 0666));
  Close(by_default, Open(by_default, "/plain", vfs::linux_abi::kOCreat, 0666));
  EXPECT_EQ(Stat(session, "/tight").mode() & 07777, 0600u);
  EXPECT_EQ(Stat(session, "/plain").mode() & 07777, 0644u);
  Unlink(session, "/tight");
  Unlink(session, "/plain");
}

TEST_P(SessionTest, CallsWithoutASession) {
  v1::StatRequest stat;
  stat.set_path("/proc/version");
  EXPECT_EQ(Reason(&Stub::Stat, stat), "OK");
  v1::AccessRequest access;
  access.set_path("/proc/version");
  access.set_mode(vfs::linux_abi::kROk);
  EXPECT_EQ(Reason(&Stub::Access, access), "OK");
  access.set_mode(vfs::linux_abi::kWOk);
  EXPECT_EQ(Reason(&Stub::Access, access), "EACCES");
  v1::ReadDirectoryRequest list;
  list.set_path("/proc");
  EXPECT_EQ(Reason(&Stub::ReadDirectory, list), "OK");
  // By handle there is nothing that it could be.
  stat.set_dir_handle(12345);
  stat.set_path("");
  stat.set_flags(vfs::linux_abi::kAtEmptyPath);
  EXPECT_EQ(Reason(&Stub::Stat, stat), "EBADF");

  EXPECT_EQ(Reason(&Stub::Open, v1::OpenRequest()), "SESSION_REQUIRED");
  EXPECT_EQ(Reason(&Stub::Close, v1::CloseRequest()), "SESSION_REQUIRED");
  EXPECT_EQ(Reason(&Stub::Read, v1::ReadRequest()), "SESSION_REQUIRED");
  EXPECT_EQ(Reason(&Stub::MakeDirectory, v1::MakeDirectoryRequest()),
            "SESSION_REQUIRED");
  EXPECT_EQ(Reason(&Stub::Unlink, v1::UnlinkRequest()), "SESSION_REQUIRED");
  EXPECT_EQ(Reason(&Stub::Rename, v1::RenameRequest()), "SESSION_REQUIRED");
  v1::BatchResponse response;
  EXPECT_EQ(ReasonOf(RunBatch(v1::BatchRequest(), &response)),
            "SESSION_REQUIRED");
}

TEST_P(SessionTest, NoAnonymousCallers) {
  Restart(
      [](Service::Options& options) { options.instance.anonymous = nullptr; });
  v1::StatRequest stat;
  stat.set_path("/");
  EXPECT_EQ(Reason(&Stub::Stat, stat), "SESSION_REQUIRED");
  v1::OpenSessionResponse response;
  const grpc::Status status =
      Call(&Stub::OpenSession, v1::OpenSessionRequest(), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(ReasonOf(status), "CREDENTIALS_DENIED");
  OpenSession();  // as root, which it says
}

TEST_P(SessionTest, NobodyMayClaimAnything) {
  Restart([](Service::Options& options) {
    options.instance.credentials = rpc::CredentialsMode::kAnonymous;
  });
  v1::OpenSessionRequest request;
  request.mutable_credentials()->set_uid(0);
  EXPECT_EQ(Reason(&Stub::OpenSession, request), "CREDENTIALS_DENIED");
  request.clear_credentials();
  const uint64_t session = OpenSession(request);
  v1::MakeDirectoryRequest make;
  make.set_session(session);
  make.set_path("/d");
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "EACCES");
  make.mutable_credentials()->set_uid(0);
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "CREDENTIALS_DENIED");
  v1::BatchRequest batch;
  batch.set_session(session);
  batch.add_operations()->mutable_stat()->set_path("/");
  *batch.add_operations()->mutable_make_directory() = make;
  v1::BatchResponse response;
  EXPECT_EQ(ReasonOf(RunBatch(batch, &response)), "CREDENTIALS_DENIED");
  // Nothing of the batch ran.
  EXPECT_EQ(service().instance().executor().counters().Ended(
                vfs::OperationKind::kStat, Errno::kOk),
            0u);
}

TEST_P(SessionTest, CredentialsOfOneRequest) {
  const uint64_t root = OpenSession();
  v1::MakeDirectoryRequest make;
  make.set_session(root);
  make.set_path("/d");
  make.set_mode(0777);
  make.mutable_credentials()->set_uid(1000);
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "EACCES");
  make.clear_credentials();
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "OK");

  v1::BatchRequest batch;
  batch.set_session(root);
  auto* access = batch.add_operations()->mutable_access();
  access->set_path("/d");
  access->set_mode(vfs::linux_abi::kWOk);
  *batch.add_operations()->mutable_access() = *access;
  batch.mutable_operations(1)->mutable_access()->mutable_credentials()->set_uid(
      1000);
  auto* too_many = batch.add_operations()->mutable_access();
  for (int i = 0; i < 65'537; ++i)
    too_many->mutable_credentials()->add_groups(1);
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  ASSERT_EQ(response.results_size(), 3);
  EXPECT_EQ(response.results(0).errno_code(), 0);
  EXPECT_EQ(response.results(1).errno_code(), Number(Errno::kEACCES));
  EXPECT_EQ(response.results(2).errno_code(), Number(Errno::kEINVAL));
  Unlink(root, "/d", vfs::linux_abi::kAtRemovedir);
}

TEST_P(SessionTest, OwnDirectoryInProcComesAndGoes) {
  v1::OpenSessionRequest request;
  request.mutable_credentials();
  request.set_client_name("seen-in-proc");
  v1::OpenSessionResponse opened;
  ASSERT_TRUE(Call(&Stub::OpenSession, request, &opened).ok());
  const std::string path =
      "/proc/" + std::to_string(opened.session_number()) + "/status";
  v1::ReadRequest read;
  read.set_session(opened.session());
  read.set_handle(Open(opened.session(), path));
  read.set_size(4096);
  v1::ReadResponse content;
  ASSERT_TRUE(Call(&Stub::Read, read, &content).ok());
  EXPECT_THAT(content.data(), testing::HasSubstr("seen-in-proc"));
  CloseSession(opened.session());
  v1::StatRequest stat;
  stat.set_path(path);
  EXPECT_EQ(Reason(&Stub::Stat, stat), "ENOENT");
}

}  // namespace
}  // namespace vfsd::contract
