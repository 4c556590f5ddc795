// The server around the calls: administration, health, reflection, sockets,
// several queues, draining.
#include <gmock/gmock.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "server/vfs/linux_abi.h"
#include "tests/contract/service_fixture.h"

namespace vfsd::contract {
namespace {

namespace abi = vfs::linux_abi;
using namespace std::string_literals;
using Stub = v1::VfsService::Stub;

class ServerTest : public ServiceTest {
 protected:
  grpc::Status SetFastPaths(const v1::SetFastPathsRequest& request,
                            v1::SetFastPathsResponse* response) {
    grpc::ClientContext context;
    SetDeadline(context);
    return admin().SetFastPaths(&context, request, response);
  }
  // grpc.health.v1: 1 is SERVING, 2 NOT_SERVING; 0: the call failed.
  int Health() {
    std::string response;
    if (!CallRaw(channel(), "/grpc.health.v1.Health/Check", "", &response).ok())
      return 0;
    return response.size() == 2 && response[0] == 8 ? response[1] : 0;
  }
};
VFSD_SERVICE_TESTS(ServerTest);

TEST_P(ServerTest, FastPathsAreSwitchedWhileItRuns) {
  v1::SetFastPathsRequest request;
  v1::SetFastPathsResponse response;
  ASSERT_TRUE(SetFastPaths(request, &response).ok());
  ASSERT_EQ(response.fast_paths_size(), 4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(response.fast_paths(i).fast_path(), i + 1);
    EXPECT_EQ(response.fast_paths(i).enabled(),
              std::string_view(GetParam()) == "all");
  }
  const uint64_t session = OpenSession();
  v1::OpenRequest open;
  open.set_session(session);
  open.set_path("/missing");
  for (const bool enabled : {true, false, true}) {
    auto* setting = request.add_settings();
    setting->set_fast_path(v1::FAST_PATH_RELEASE_EMPTY);
    setting->set_enabled(enabled);
    ASSERT_TRUE(SetFastPaths(request, &response).ok());
    EXPECT_EQ(response.fast_paths(0).enabled(), enabled);
    const uint64_t hits = response.fast_paths(0).hits();
    EXPECT_EQ(Reason(&Stub::Open, open), "ENOENT");
    ASSERT_TRUE(SetFastPaths(v1::SetFastPathsRequest(), &response).ok());
    EXPECT_EQ(response.fast_paths(0).hits(), hits + (enabled ? 1 : 0));
  }
}

TEST_P(ServerTest, UnknownFastPathsChangeNothing) {
  for (const int unknown : {0, 17}) {
    v1::SetFastPathsRequest request;
    auto* good = request.add_settings();
    good->set_fast_path(v1::FAST_PATH_PERMANENT);
    good->set_enabled(std::string_view(GetParam()) != "all");
    request.add_settings()->set_fast_path(static_cast<v1::FastPath>(unknown));
    v1::SetFastPathsResponse response;
    const grpc::Status status = SetFastPaths(request, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(ReasonOf(status), "MALFORMED_REQUEST");
  }
  EXPECT_EQ(
      service().instance().vfs().fast_paths.enabled(vfs::FastPath::kPermanent),
      std::string_view(GetParam()) == "all");
}

TEST_P(ServerTest, AdministrationCanBeLeftOut) {
  Restart([](Service::Options& options) { options.admin_service = false; });
  v1::SetFastPathsResponse response;
  EXPECT_EQ(SetFastPaths(v1::SetFastPathsRequest(), &response).error_code(),
            grpc::StatusCode::UNIMPLEMENTED);
}

TEST_P(ServerTest, TreesAreMountedAndUnmounted) {
  const uint64_t session = OpenSession();
  MakeDirectory(session, "/mnt");
  const auto reason = [](const grpc::Status& status) {
    return status.ok() ? std::string("OK") : ReasonOf(status);
  };
  v1::MountRequest mount;
  mount.set_path("/mnt");
  v1::MountResponse mounted;
  const auto try_mount = [&] {
    grpc::ClientContext context;
    SetDeadline(context);
    return reason(admin().Mount(&context, mount, &mounted));
  };
  EXPECT_EQ(try_mount(), "MALFORMED_REQUEST");
  mount.set_empty_tree(true);
  mount.set_read_only(true);
  EXPECT_EQ(try_mount(), "OK");
  v1::MakeDirectoryRequest make;
  make.set_session(session);
  make.set_path("/mnt/d");
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "EROFS");

  v1::ListMountsResponse list;
  {
    grpc::ClientContext context;
    SetDeadline(context);
    ASSERT_TRUE(
        admin().ListMounts(&context, v1::ListMountsRequest(), &list).ok());
  }
  ASSERT_EQ(list.mounts_size(), 3);
  EXPECT_EQ(list.mounts(0).path(), "/");
  EXPECT_EQ(list.mounts(1).path(), "/proc");
  EXPECT_EQ(list.mounts(2).path(), "/mnt");
  EXPECT_TRUE(list.mounts(2).read_only());

  v1::UnmountRequest unmount;
  unmount.set_path("/mnt");
  v1::UnmountResponse unmounted;
  const auto try_unmount = [&] {
    grpc::ClientContext context;
    SetDeadline(context);
    return reason(admin().Unmount(&context, unmount, &unmounted));
  };
  const uint64_t handle = Open(session, "/mnt");
  EXPECT_EQ(try_unmount(), "EBUSY");
  Close(session, handle);
  EXPECT_EQ(try_unmount(), "OK");
  EXPECT_EQ(try_unmount(), "EINVAL");
  EXPECT_EQ(Reason(&Stub::MakeDirectory, make), "OK");
  Unlink(session, "/mnt/d", abi::kAtRemovedir);
  Unlink(session, "/mnt", abi::kAtRemovedir);
}

TEST_P(ServerTest, HealthIsServed) { EXPECT_EQ(Health(), 1); }

TEST_P(ServerTest, HealthOfEachService) {
  const auto check = [&](const std::string& service) {
    std::string response;
    const std::string request =
        "\x0a"s + static_cast<char>(service.size()) + service;
    const grpc::Status status =
        CallRaw(channel(), "/grpc.health.v1.Health/Check", request, &response);
    return std::pair(status.error_code(), response);
  };
  for (const char* service :
       {"vfs.v1.VfsService", "vfs.v1.AdminService", "grpc.health.v1.Health"}) {
    EXPECT_EQ(check(service), std::pair(grpc::StatusCode::OK, "\x08\x01"s))
        << service;
  }
  EXPECT_EQ(check("vfs.v1.Nothing").first, grpc::StatusCode::NOT_FOUND);
  std::string response;
  EXPECT_EQ(
      CallRaw(channel(), "/grpc.health.v1.Health/Check", "\x0a\x7f", &response)
          .error_code(),
      grpc::StatusCode::INVALID_ARGUMENT);
}

// A stub for any method.
using GenericStub =
    grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>;

// Health.Watch, a step at a time.
class Watch {
 public:
  Watch(const std::shared_ptr<grpc::Channel>& channel,
        const std::string& request)
      : stub_(channel) {
    context_.set_deadline(std::chrono::system_clock::now() +
                          std::chrono::seconds(60));
    stream_ =
        stub_.PrepareCall(&context_, "/grpc.health.v1.Health/Watch", &queue_);
    stream_->StartCall(nullptr);
    Wait();
    const grpc::Slice slice(request);
    stream_->WriteLast(grpc::ByteBuffer(&slice, 1), {}, nullptr);
    Wait();
  }
  ~Watch() {
    context_.TryCancel();
    if (!finished_) Finish();
    queue_.Shutdown();
    void* tag;
    bool ok;
    while (queue_.Next(&tag, &ok)) {
    }
  }

  // The next status that is told; -1: there is none, the stream has ended.
  int Next() {
    grpc::ByteBuffer message;
    stream_->Read(&message, nullptr);
    if (!Wait()) return -1;
    grpc::Slice slice;
    EXPECT_TRUE(message.DumpToSingleSlice(&slice).ok());
    return slice.size() == 2 && slice.begin()[0] == 8 ? slice.begin()[1] : 0;
  }
  grpc::Status Finish() {
    grpc::Status status;
    stream_->Finish(&status, nullptr);
    Wait();
    finished_ = true;
    return status;
  }
  void Cancel() { context_.TryCancel(); }

 private:
  bool Wait() {
    void* tag;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

  GenericStub stub_;
  grpc::CompletionQueue queue_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  bool finished_ = false;
};

TEST_P(ServerTest, HealthIsWatched) {
  Watch all(channel(), "");
  Watch one(channel(), "\x0a\x11vfs.v1.VfsService"s);
  Watch unknown(channel(), "\x0a\x04none"s);
  EXPECT_EQ(all.Next(), 1);
  EXPECT_EQ(one.Next(), 1);
  EXPECT_EQ(unknown.Next(), 3);
  {
    // One that goes away makes room.
    Watch brief(channel(), "");
    EXPECT_EQ(brief.Next(), 1);
    brief.Cancel();
    EXPECT_EQ(brief.Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  Watch malformed(channel(), "\x0a\x7f"s);
  EXPECT_EQ(malformed.Next(), -1);
  EXPECT_EQ(malformed.Finish().error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  service().server().BeginDrain();
  EXPECT_EQ(all.Next(), 2);
  EXPECT_EQ(one.Next(), 2);
  service().server().Shutdown(std::chrono::system_clock::now() +
                              std::chrono::minutes(10));
  EXPECT_EQ(all.Next(), -1);
  EXPECT_EQ(ReasonOf(all.Finish()), "DRAINING");
}

TEST_P(ServerTest, ReflectionSaysWhatIsNotThere) {
  const auto ask = [&](const std::string& request) {
    std::string response;
    EXPECT_TRUE(
        StreamRaw(
            channel(),
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            request, &response)
            .ok());
    return response;
  };
  // The answer holds the question, and an ErrorResponse (7) with NOT_FOUND (5).
  const auto not_found = testing::HasSubstr("\x08\x05\x12"s);
  EXPECT_THAT(ask("\x22\x03xyz"s), not_found);
  EXPECT_THAT(ask("\x1a\x03xyz"s), not_found);
  EXPECT_THAT(ask("\x32\x03xyz"s), not_found);
  EXPECT_THAT(ask("\x2a\x05\x0a\x03xyz"s), not_found);
  // A file by its name, and what it imports.
  EXPECT_THAT(ask("\x1a\x10vfs/v1/vfs.proto"s),
              testing::HasSubstr("errors_in_band"));
  // A question that is none.
  EXPECT_THAT(ask(""), testing::HasSubstr("\x08\x0c\x12"s));
}

TEST_P(ServerTest, ReflectionNamesTheServices) {
  // ServerReflectionRequest.list_services = 7: "".
  std::string response;
  ASSERT_TRUE(
      StreamRaw(
          channel(),
          "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
          "\x3a\x00"s, &response)
          .ok());
  EXPECT_THAT(response, testing::HasSubstr("vfs.v1.VfsService"));
  EXPECT_THAT(response, testing::HasSubstr("vfs.v1.AdminService"));
  EXPECT_THAT(response, testing::HasSubstr("grpc.health.v1.Health"));
  // file_containing_symbol = 4.
  ASSERT_TRUE(
      StreamRaw(
          channel(),
          "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
          "\x22\x11vfs.v1.VfsService"s, &response)
          .ok());
  EXPECT_THAT(response, testing::HasSubstr("errors_in_band"));
}

TEST_P(ServerTest, UnixSocketsServeTheSame) {
  const auto over_unix =
      v1::VfsService::NewStub(service().Connect(service().unix_address()));
  grpc::ClientContext context;
  SetDeadline(context);
  v1::StatRequest stat;
  stat.set_path("/proc/version");
  v1::StatResponse response;
  EXPECT_TRUE(over_unix->Stat(&context, stat, &response).ok());
  EXPECT_EQ(response.mode() & abi::kSIfmt, abi::kSIfreg);
}

TEST_P(ServerTest, ManyThreadsOnSeveralQueues) {
  Restart([](Service::Options& options) { options.queues = 3; });
  const uint64_t session = OpenSession();
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      const auto own =
          v1::VfsService::NewStub(service().Connect(service().tcp_address()));
      const std::string path = "/t" + std::to_string(thread);
      for (int i = 0; i < 50; ++i) {
        v1::OpenRequest open;
        open.set_session(session);
        open.set_path(path);
        open.set_flags(abi::kOCreat | abi::kOExcl);
        v1::OpenResponse opened;
        {
          grpc::ClientContext context;
          SetDeadline(context);
          EXPECT_TRUE(own->Open(&context, open, &opened).ok());
        }
        v1::CloseRequest close;
        close.set_session(session);
        close.set_handle(opened.handle());
        v1::CloseResponse closed;
        {
          grpc::ClientContext context;
          SetDeadline(context);
          EXPECT_TRUE(own->Close(&context, close, &closed).ok());
        }
        v1::UnlinkRequest unlink;
        unlink.set_session(session);
        unlink.set_path(path);
        v1::UnlinkResponse unlinked;
        grpc::ClientContext context;
        SetDeadline(context);
        EXPECT_TRUE(own->Unlink(&context, unlink, &unlinked).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(service().server().statistics().in_flight(), 0u);
}

TEST_P(ServerTest, CallsAreCountedByMethodAndCode) {
  const CallStatistics& statistics = service().server().statistics();
  size_t stat_index = 0;
  while (statistics.methods()[stat_index].name != "Stat") ++stat_index;
  v1::StatRequest stat;
  stat.set_path("/");
  EXPECT_EQ(Reason(&Stub::Stat, stat), "OK");
  stat.set_path("/missing");
  EXPECT_EQ(Reason(&Stub::Stat, stat), "ENOENT");
  EXPECT_EQ(Reason(&Stub::Stat, stat), "ENOENT");
  const CallStatistics::Totals totals = statistics.Read(stat_index);
  EXPECT_EQ(totals.started, 3u);
  EXPECT_EQ(totals.handled[grpc::StatusCode::OK], 1u);
  EXPECT_EQ(totals.handled[grpc::StatusCode::NOT_FOUND], 2u);
  EXPECT_EQ(totals.in_flight(), 0u);
  EXPECT_GT(totals.sum_nanoseconds, 0u);
}

TEST_P(ServerTest, DrainingServesWhatIsOpenAndTakesNothingNew) {
  const uint64_t session = OpenSession();
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub().Batch(&context);
  v1::BatchRequest batch;
  batch.set_session(session);
  batch.add_operations()->mutable_stat()->set_path("/");
  v1::BatchResponse response;
  ASSERT_TRUE(stream->Write(batch));
  ASSERT_TRUE(stream->Read(&response));

  service().server().BeginDrain();
  // An idle stream ends, and says why.
  EXPECT_FALSE(stream->Read(&response));
  const grpc::Status ended = stream->Finish();
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(ReasonOf(ended), "DRAINING");
  EXPECT_EQ(ReasonOf(RunBatch(batch, &response)), "DRAINING");
  EXPECT_EQ(Reason(&Stub::OpenSession, v1::OpenSessionRequest()), "DRAINING");
  EXPECT_EQ(Health(), 2);
  EXPECT_EQ(Stat(session, "/").mode() & abi::kSIfmt, abi::kSIfdir);
  CloseSession(session);
}

TEST_P(ServerTest, ShutdownIsSoonOverWithIdleClients) {
  const uint64_t session = OpenSession();
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub().Batch(&context);
  v1::BatchRequest batch;
  batch.set_session(session);
  v1::BatchResponse response;
  ASSERT_TRUE(stream->Write(batch));
  ASSERT_TRUE(stream->Read(&response));
  const auto start = std::chrono::steady_clock::now();
  service().server().Shutdown(std::chrono::system_clock::now() +
                              std::chrono::minutes(10));
  // Not by its deadline, however slow the machine.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(5));
  EXPECT_EQ(ReasonOf(stream->Finish()), "DRAINING");
  service().instance().sessions().Close(session, nullptr);
}

// Whoever keeps calling while the server shuts down is served, or told why not.
TEST_P(ServerTest, ShutdownAnswersBusyClients) {
  std::atomic<int> answered = 0;
  std::vector<std::string> ends(4);
  std::vector<std::thread> threads;
  for (std::string& end : ends) {
    threads.emplace_back([&, own = service().Connect(service().tcp_address())] {
      const auto caller = v1::VfsService::NewStub(own);
      v1::StatRequest stat;
      stat.set_path("/proc/version");
      for (;;) {
        grpc::ClientContext context;
        SetDeadline(context);
        v1::StatResponse response;
        const grpc::Status status = caller->Stat(&context, stat, &response);
        if (!status.ok()) {
          end = ReasonOf(status);
          return;
        }
        ++answered;
      }
    });
  }
  while (answered < 100) std::this_thread::yield();
  // A deadline that has passed: not a call is waited for.
  service().server().Shutdown(std::chrono::system_clock::now());
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(ends, testing::Each("DRAINING"));
}

// A stat that takes longer than the server waits for it.
class SlowHooks final : public vfs::SecurityHooks {
 public:
  Errno InodeGetattr(const vfs::Inode&) override {
    if (slow) {
      entered = true;
      std::this_thread::sleep_for(std::chrono::seconds(2));
    }
    return Errno::kOk;
  }

  std::atomic<bool> slow{false};
  std::atomic<bool> entered{false};
};

// What such a call would begin when it returns (its answer, the next one to
// wait for) must not come to a queue that has shut down: gRPC aborts there.
TEST_P(ServerTest, ACallThatOutlivesTheShutdownEndsQuietly) {
  static SlowHooks hooks;  // The server that the fixture stops has it still.
  Restart([&](Service::Options& options) {
    options.instance.vfs.hooks = &hooks;
    options.queues = 1;
  });
  const uint64_t session = OpenSession();
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub().Batch(&context);
  v1::BatchRequest batch;
  batch.set_session(session);
  batch.add_operations()->mutable_stat()->set_path("/");
  hooks.slow = true;
  ASSERT_TRUE(stream->Write(batch));
  while (!hooks.entered) std::this_thread::yield();
  service().server().Shutdown(std::chrono::system_clock::now());
  v1::BatchResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_FALSE(stream->Finish().ok());
  hooks.slow = false;
  service().instance().sessions().Close(session, nullptr);
}

TEST_P(ServerTest, AddressesInUseAreSaidSo) {
  const auto start = [&](const std::string& address) {
    rpc::ServerOptions options;
    options.listen = {ListenAddress::Parse(address).value()};
    const auto server =
        rpc::Server::Start(options, service().instance().backend());
    return server.has_value() ? std::string("started") : server.error();
  };
  EXPECT_EQ(start(service().tcp_address()), "cannot listen on " +
                                                service().tcp_address() +
                                                ": Address already in use");
  EXPECT_EQ(start(service().unix_address()), "cannot listen on " +
                                                 service().unix_address() +
                                                 ": Address already in use");
  EXPECT_THAT(start("unix:/nonexistent/socket"),
              testing::HasSubstr("No such file or directory"));
  // The first server still serves.
  EXPECT_EQ(Health(), 1);
}

TEST(ListenAddressTest, SocketFilesOfDeadServersAreReplaced) {
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("vfsd-stale-" + std::to_string(getpid())))
                               .string();
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(
      bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
      0);
  ASSERT_EQ(listen(fd, 1), 0);
  const ListenAddress listen_address =
      ListenAddress::Parse("unix:" + path).value();
  EXPECT_EQ(listen_address.WhyUnusable(), "Address already in use");
  close(fd);
  EXPECT_EQ(listen_address.WhyUnusable(), "");
  std::ofstream(path) << "not a socket";
  EXPECT_EQ(listen_address.WhyUnusable(), "the file exists and is no socket");
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
}

TEST(ListenAddressTest, Parse) {
  EXPECT_EQ(ListenAddress::Parse("127.0.0.1:80")->text(), "127.0.0.1:80");
  EXPECT_EQ(ListenAddress::Parse("[::1]:0")->TextWithPort(7), "[::1]:7");
  EXPECT_EQ(ListenAddress::Parse("unix:a/b")->text(), "unix:a/b");
  EXPECT_EQ(ListenAddress::Parse("localhost:80")
                    ->NumericText()
                    .value()
                    .substr(0, 1) == "l",
            false);
  for (const char* bad : {"", "80", "host", "host:", ":80", "host:99999",
                          "host:-1", "host:80x", "unix:", "::1:80", "[::1]"}) {
    EXPECT_FALSE(ListenAddress::Parse(bad).has_value()) << bad;
  }
  EXPECT_FALSE(
      ListenAddress::Parse("unix:" + std::string(108, 'x')).has_value());
}

}  // namespace
}  // namespace vfsd::contract
