#include "client/lib/session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "client/lib/batch_stream.h"
#include "client/lib/health.h"
#include "client/lib/path.h"
#include "tests/unit/client/fake_server.h"

namespace vfsclient {
namespace {

using vfs::v1::BatchOperation;
using vfs::v1::BatchResult;

BatchResult Failed(int errno_code) {
  BatchResult result;
  result.set_errno_code(errno_code);
  return result;
}

TEST(Session, OpensAndClosesItself) {
  FakeServer server;
  {
    auto session = Session::Connect(server.address());
    ASSERT_TRUE(session) << session.error().Text();
    EXPECT_EQ(session->id(), server.session.session());
    EXPECT_EQ(server.open_sessions, 1);
    Session moved = *std::move(session);
    EXPECT_EQ(server.open_sessions, 1);
    EXPECT_EQ(moved.info().server_version(), "0.0.0-fake");
  }
  EXPECT_EQ(server.open_sessions, 0);
}

TEST(Session, CloseIsOnce) {
  FakeServer server;
  auto session = Session::Connect(server.address());
  ASSERT_TRUE(session);
  EXPECT_TRUE(session->Close());
  EXPECT_TRUE(session->Close());
  EXPECT_EQ(server.open_sessions, 0);
}

TEST(Session, NoServerIsUnreachable) {
  std::string address;
  {
    FakeServer server;
    address = server.address();
  }
  SessionOptions options;
  options.timeout = std::chrono::seconds(2);
  const auto session = Session::Connect(address, options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().kind(), Error::Kind::kTransport);
}

TEST(Session, ErrorsEitherWay) {
  FakeServer server;
  server.answer = [](const BatchOperation&) { return Failed(13); };
  auto session = Session::Connect(server.address());
  ASSERT_TRUE(session);
  const auto in_band = session->Open("/x", 0);
  ASSERT_FALSE(in_band);
  EXPECT_EQ(in_band.error().Name(), "EACCES");

  server.fail = [] {
    return StatusWithReason(grpc::StatusCode::UNAUTHENTICATED,
                            "SESSION_EXPIRED");
  };
  const auto status = session->Stat("/x");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().Name(), "SESSION_EXPIRED");
}

TEST(Session, ReadFileReadsToTheEndAndCloses) {
  const std::string content(3'000'000, 'x');
  FakeServer server;
  std::atomic<int> open_files = 0;
  server.answer = [&](const BatchOperation& operation) {
    BatchResult result;
    if (operation.has_open()) {
      ++open_files;
      result.mutable_open()->set_handle(9);
    } else if (operation.has_close()) {
      --open_files;
    } else {
      const auto& read = operation.read();
      EXPECT_EQ(read.handle(), 9u);
      result.mutable_read()->set_data(
          content.substr(static_cast<size_t>(read.offset()), read.size()));
    }
    return result;
  };
  auto session = Session::Connect(server.address());
  ASSERT_TRUE(session);
  const auto got = session->ReadFile("/proc/big");
  ASSERT_TRUE(got) << got.error().Text();
  EXPECT_EQ(*got, content);
  EXPECT_EQ(open_files, 0);
}

TEST(Session, ReadDirectoryFollowsTheCursor) {
  FakeServer server;
  server.answer = [](const BatchOperation& operation) {
    BatchResult result;
    const uint64_t cursor = operation.read_directory().cursor();
    auto* page = result.mutable_read_directory();
    page->add_entries()->set_name("entry-" + std::to_string(cursor));
    page->set_next_cursor(cursor < 3 ? cursor + 1 : 0);
    return result;
  };
  auto session = Session::Connect(server.address());
  ASSERT_TRUE(session);
  std::vector<std::string> names;
  ASSERT_TRUE(session->ReadDirectory("/", false, [&](auto& page) {
    for (const auto& entry : page.entries()) names.push_back(NameOf(entry));
    return true;
  }));
  EXPECT_EQ(names, (std::vector<std::string>{"entry-0", "entry-1", "entry-2",
                                             "entry-3"}));
  int pages = 0;
  ASSERT_TRUE(
      session->ReadDirectory("/", false, [&](auto&) { return ++pages < 2; }));
  EXPECT_EQ(pages, 2);
}

TEST(Session, RenewsItsLease) {
  FakeServer server;
  server.session.set_lease_milliseconds(30);
  auto session = Session::Connect(server.address());
  ASSERT_TRUE(session);
  // Bounded by the test's own time limit.
  while (server.keep_alives < 3) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

TEST(BatchStream, AnswersInOrder) {
  FakeServer server;
  server.answer = [](const BatchOperation& operation) {
    BatchResult result;
    result.mutable_stat()->set_ino(operation.stat().dir_handle());
    return result;
  };
  auto session = Session::Connect(server.address());
  ASSERT_TRUE(session);
  const auto stream = session->OpenBatchStream();
  Batch batch;
  for (uint64_t i = 1; i <= 3; ++i) {
    batch.Clear();
    batch.Stat(Handle{i});
    batch.Stat(Handle{10 * i});
    ASSERT_TRUE(stream->Send(&batch));
  }
  for (uint64_t i = 1; i <= 3; ++i) {
    const auto answer = stream->Receive();
    ASSERT_TRUE(answer) << answer.error().Text();
    ASSERT_EQ(answer->results_size(), 2);
    EXPECT_EQ(answer->results(0).stat().ino(), i);
    EXPECT_EQ(answer->results(1).stat().ino(), 10 * i);
  }
  EXPECT_TRUE(stream->Finish());
}

TEST(BatchStream, TellsWhyItEnded) {
  FakeServer server;
  auto session = Session::Connect(server.address());
  ASSERT_TRUE(session);
  server.fail = [] {
    return StatusWithReason(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "BATCH_TOO_LARGE");
  };
  const auto stream = session->OpenBatchStream();
  Batch batch;
  batch.Close(Handle{1});
  const auto answer = stream->Run(&batch);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().Name(), "BATCH_TOO_LARGE");
  EXPECT_EQ(stream->Receive().error().Name(), "BATCH_TOO_LARGE");
}

TEST(Health, AServerWithoutTheServiceSaysSo) {
  FakeServer server;
  auto session = Session::Connect(server.address());
  ASSERT_TRUE(session);
  const auto status =
      CheckHealth(session->channel(), "", std::chrono::seconds(5));
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace vfsclient
