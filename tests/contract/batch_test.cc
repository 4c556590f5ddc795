// The Batch stream: order, chaining, pipelining, limits.
#include <gmock/gmock.h>

#include "server/vfs/linux_abi.h"
#include "tests/contract/service_fixture.h"

namespace vfsd::contract {
namespace {

namespace abi = vfs::linux_abi;

class BatchTest : public ServiceTest {
 protected:
  // The error numbers of a batch's results.
  static std::vector<int32_t> Errors(const v1::BatchResponse& response) {
    std::vector<int32_t> errors;
    for (const v1::BatchResult& result : response.results())
      errors.push_back(result.errno_code());
    return errors;
  }
};
VFSD_SERVICE_TESTS(BatchTest);

constexpr int32_t kCanceled = Number(Errno::kECANCELED);
constexpr int32_t kNoEntry = Number(Errno::kENOENT);

TEST_P(BatchTest, EveryKindChained) {
  v1::BatchRequest batch;
  batch.set_session(OpenSession());
  auto* make = batch.add_operations()->mutable_make_directory();
  make->set_path("/d");
  make->set_mode(0755);
  auto* directory = batch.add_operations()->mutable_open();  // 1
  directory->set_path("/d");
  directory->set_flags(abi::kODirectory);
  auto* file = batch.add_operations()->mutable_open();  // 2
  file->set_dir_operation(1);
  file->set_path("file");
  file->set_flags(abi::kOCreat);
  file->set_mode(0640);
  auto* stat = batch.add_operations()->mutable_stat();
  stat->set_dir_operation(2);
  stat->set_flags(abi::kAtEmptyPath);
  stat->set_mask(abi::kStatxBasicStats);
  auto* access = batch.add_operations()->mutable_access();
  access->set_dir_operation(1);
  access->set_path("file");
  auto* list = batch.add_operations()->mutable_read_directory();
  list->set_dir_operation(1);
  list->set_with_attributes(true);
  batch.add_operations()->mutable_read()->set_handle_operation(2);
  auto* rename = batch.add_operations()->mutable_rename();
  rename->set_old_dir_operation(1);
  rename->set_old_path("file");
  rename->set_new_dir_operation(1);
  rename->set_new_path("renamed");
  batch.add_operations()->mutable_close()->set_handle_operation(2);
  batch.add_operations()->mutable_close()->set_handle_operation(2);
  auto* unlink = batch.add_operations()->mutable_unlink();
  unlink->set_dir_operation(1);
  unlink->set_path("renamed");
  batch.add_operations()->mutable_close()->set_handle_operation(1);
  auto* remove = batch.add_operations()->mutable_unlink();
  remove->set_path("/d");
  remove->set_flags(abi::kAtRemovedir);
  auto* version = batch.add_operations()->mutable_open();  // 13
  version->set_path("/proc/version");
  auto* read = batch.add_operations()->mutable_read();
  read->set_handle_operation(13);
  read->set_size(4);
  batch.add_operations()->mutable_close()->set_handle_operation(13);
  batch.add_operations();  // nothing at all

  v1::BatchResponse response;
  const grpc::Status status = RunBatch(batch, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_THAT(Errors(response),
              testing::ElementsAre(0, 0, 0, 0, 0, 0, Number(Errno::kEOPNOTSUPP),
                                   0, 0, Number(Errno::kEBADF), 0, 0, 0, 0, 0,
                                   0, Number(Errno::kEINVAL)));
  EXPECT_NE(response.results(1).open().handle(), 0u);
  EXPECT_EQ(response.results(3).stat().mode(), abi::kSIfreg | 0640u);
  ASSERT_EQ(response.results(5).read_directory().entries_size(), 1);
  EXPECT_EQ(response.results(5).read_directory().entries(0).name(), "file");
  EXPECT_EQ(response.results(5).read_directory().entries(0).attributes().mode(),
            abi::kSIfreg | 0640u);
  EXPECT_EQ(response.results(14).read().data(), "vfsd");
  EXPECT_FALSE(response.results(8).has_open());
}

TEST_P(BatchTest, ReferencesToWhatOpenedNothingAreCanceled) {
  v1::BatchRequest batch;
  batch.set_session(OpenSession());
  batch.add_operations()->mutable_open()->set_path("/missing");
  batch.add_operations()->mutable_close()->set_handle_operation(0);  // failed
  batch.add_operations()->mutable_close()->set_handle_operation(3);  // later
  batch.add_operations()->mutable_open()->set_path("/");
  batch.add_operations()->mutable_close()->set_handle_operation(4);  // itself
  batch.add_operations()->mutable_stat()->set_path("/");
  batch.add_operations()->mutable_close()->set_handle_operation(
      5);  // opens nothing
  batch.add_operations()->mutable_close()->set_handle_operation(
      999);  // not there
  batch.add_operations()->mutable_close()->set_handle_operation(3);
  auto* rename = batch.add_operations()->mutable_rename();
  rename->set_old_path("/a");
  rename->set_new_dir_operation(0);
  rename->set_new_path("b");
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_THAT(Errors(response),
              testing::ElementsAre(kNoEntry, kCanceled, kCanceled, 0, kCanceled,
                                   0, kCanceled, kCanceled, 0, kCanceled));
}

TEST_P(BatchTest, StopOnError) {
  v1::BatchRequest batch;
  batch.set_session(OpenSession());
  batch.set_stop_on_error(true);
  batch.add_operations()->mutable_open()->set_path("/");
  batch.add_operations()->mutable_stat()->set_path("/missing");
  batch.add_operations()->mutable_make_directory()->set_path("/never");
  batch.add_operations()->mutable_close()->set_handle_operation(0);
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_THAT(Errors(response),
              testing::ElementsAre(0, kNoEntry, kCanceled, kCanceled));
  v1::StatRequest stat;
  stat.set_path("/never");
  EXPECT_EQ(Reason(&v1::VfsService::Stub::Stat, stat), "ENOENT");
}

TEST_P(BatchTest, MessagesOfAStreamAreAnsweredInOrder) {
  const uint64_t session = OpenSession();
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub().Batch(&context);
  constexpr int kMessages = 50;
  for (int i = 0; i < kMessages; ++i) {
    v1::BatchRequest batch;
    // Only the first message's counts.
    batch.set_session(i == 0 ? session : 1);
    for (int operation = 0; operation <= i; ++operation) {
      batch.add_operations()->mutable_stat()->set_path(
          operation == i ? "/missing" : "/");
    }
    ASSERT_TRUE(stream->Write(batch));
  }
  stream->WritesDone();
  for (int i = 0; i < kMessages; ++i) {
    v1::BatchResponse response;
    ASSERT_TRUE(stream->Read(&response));
    ASSERT_EQ(response.results_size(), i + 1);
    EXPECT_EQ(response.results(i).errno_code(), kNoEntry);
  }
  v1::BatchResponse none;
  EXPECT_FALSE(stream->Read(&none));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_P(BatchTest, EmptyBatchAndEmptyStream) {
  v1::BatchRequest batch;
  batch.set_session(OpenSession());
  v1::BatchResponse response;
  EXPECT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_EQ(response.results_size(), 0);
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = stub().Batch(&context);
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_P(BatchTest, LimitOfOperations) {
  const uint64_t session = OpenSession();
  v1::BatchRequest batch;
  batch.set_session(session);
  for (int i = 0; i < 10'000; ++i)
    batch.add_operations()->mutable_stat()->set_path("/");
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_EQ(response.results_size(), 10'000);
  batch.add_operations();
  const grpc::Status status = RunBatch(batch, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(ReasonOf(status), "BATCH_TOO_LARGE");
  EXPECT_EQ(service().instance().executor().counters().Ended(
                vfs::OperationKind::kStat, Errno::kOk),
            10'000u);
}

TEST_P(BatchTest, LimitOfBytes) {
  Restart([](Service::Options& options) {
    options.instance.limits.max_message_bytes = 100'000;
  });
  const uint64_t session = OpenSession();
  v1::BatchRequest batch;
  batch.set_session(session);
  batch.add_operations()->mutable_stat()->set_path(std::string(50'000, 'x'));
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_THAT(Errors(response),
              testing::ElementsAre(Number(Errno::kENAMETOOLONG)));
  batch.add_operations()->mutable_stat()->set_path(std::string(50'000, 'x'));
  EXPECT_EQ(ReasonOf(RunBatch(batch, &response)), "BATCH_TOO_LARGE");
  // A unary request is held to the same limit; far beyond it gRPC itself
  // refuses.
  v1::StatRequest stat;
  stat.set_path(std::string(100'001, 'x'));
  EXPECT_EQ(Reason(&v1::VfsService::Stub::Stat, stat), "BATCH_TOO_LARGE");
  stat.set_path(std::string(3'000'000, 'x'));
  v1::StatResponse answer;
  EXPECT_EQ(Call(&v1::VfsService::Stub::Stat, stat, &answer).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_P(BatchTest, ResponsesAreKeptWithinTheLimit) {
  Restart([](Service::Options& options) {
    options.instance.limits.max_message_bytes = 20'000;
  });
  v1::BatchRequest batch;
  batch.set_session(OpenSession());
  batch.add_operations()->mutable_open()->set_path("/proc/cpuinfo");
  for (int i = 0; i < 200; ++i) {
    auto* read = batch.add_operations()->mutable_read();
    read->set_handle_operation(0);
    read->set_size(1000);
  }
  auto* list = batch.add_operations()->mutable_read_directory();
  list->set_path("/proc");
  batch.add_operations()->mutable_close()->set_handle_operation(0);
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_LE(response.ByteSizeLong(), 22'000u);
  EXPECT_EQ(response.results(1).read().data().size(), 1000u);
  // Short reads at the limit, then an error; small answers still fit.
  EXPECT_EQ(response.results(200).errno_code(), Number(Errno::kEOVERFLOW));
  EXPECT_EQ(response.results(201).errno_code(), Number(Errno::kEOVERFLOW));
  EXPECT_EQ(response.results(202).errno_code(), 0);
}

TEST_P(BatchTest, MalformedMessageEndsTheStreamAndRunsNothing) {
  v1::BatchRequest batch;
  batch.set_session(OpenSession());
  batch.add_operations()->mutable_make_directory()->set_path("/never");
  const std::string bytes = batch.SerializeAsString();
  std::string response;
  const grpc::Status status = StreamRaw(channel(), "/vfs.v1.VfsService/Batch",
                                        bytes + "\x1a\x7f", &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(status), "MALFORMED_REQUEST");
  EXPECT_EQ(response, "");
  v1::StatRequest stat;
  stat.set_path("/never");
  EXPECT_EQ(Reason(&v1::VfsService::Stub::Stat, stat), "ENOENT");
}

// Whatever is asked for: a client that takes messages of the promised size gets
// all answers.
TEST_P(BatchTest, AResponseIsKeptWithinTheLimit) {
  constexpr uint32_t kLimit = 65'536;
  Restart([](Service::Options& options) {
    options.instance.limits.max_message_bytes = kLimit;
  });
  const uint64_t session = OpenSession();
  v1::BatchRequest make;
  make.set_session(session);
  make.add_operations()->mutable_make_symlink()->set_path("/link");
  make.mutable_operations(0)->mutable_make_symlink()->set_target(
      std::string(4095, 'x'));
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(make, &response).ok());
  ASSERT_THAT(Errors(response), testing::Each(0));

  constexpr int kCount = 1000;
  constexpr size_t kRowBytes = 16;
  std::vector<v1::BatchOperation> kinds(4);
  kinds[3].mutable_stat_filesystem()->set_path("/");
  kinds[0].mutable_read_link()->set_path("/link");
  kinds[1].mutable_stat()->set_path("/link");
  kinds[1].mutable_stat()->set_mask(0xfff);
  kinds[1].mutable_stat()->set_flags(abi::kAtSymlinkNofollow);
  kinds[2].mutable_read_directory()->set_path("/");
  for (const v1::BatchOperation& kind : kinds) {
    v1::BatchRequest batch;
    batch.set_session(session);
    for (int i = 0; i < kCount; ++i) *batch.add_operations() = kinds[0];
    *batch.add_operations() = kind;
    ASSERT_TRUE(RunBatch(batch, &response).ok());
    ASSERT_EQ(response.results_size(), kCount + 1);
    EXPECT_LE(response.ByteSizeLong(), kLimit + kRowBytes * kCount);
    EXPECT_EQ(response.results(0).errno_code(), 0);
    EXPECT_EQ(response.results(kCount - 1).errno_code(),
              Number(Errno::kEOVERFLOW));
    EXPECT_EQ(response.results(kCount).errno_code(), Number(Errno::kEOVERFLOW));
  }
  // What takes no more room than an error is done all the same.
  v1::BatchRequest batch;
  batch.set_session(session);
  for (int i = 0; i < kCount; ++i) *batch.add_operations() = kinds[0];
  batch.add_operations()->mutable_unlink()->set_path("/link");
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_EQ(response.results(kCount).errno_code(), 0);
}

// However much they ask for: memory is taken for what comes.
TEST_P(BatchTest, ManyLargeReadsOfASmallFile) {
  const uint64_t session = OpenSession();
  v1::BatchRequest batch;
  batch.set_session(session);
  batch.add_operations()->mutable_open()->set_path("/proc/version");
  for (int i = 0; i < 5000; ++i) {
    v1::ReadRequest* read = batch.add_operations()->mutable_read();
    read->set_handle_operation(0);
    read->set_size(i % 2 == 0 ? 1 << 20 : 100);
  }
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  ASSERT_EQ(response.results_size(), 5001);
  const std::string& version = response.results(1).read().data();
  EXPECT_GT(version.size(), 10u);
  for (int i = 0; i < 5000; ++i) {
    ASSERT_EQ(response.results(i + 1).read().data(),
              i % 2 == 0 ? version : version.substr(0, 100))
        << i;
  }
}

TEST_P(BatchTest, ASessionThatEndsEndsItsStreams) {
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
  CloseSession(session);
  stream->Write(batch);
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(ReasonOf(stream->Finish()), "SESSION_EXPIRED");
}

TEST_P(BatchTest, ACanceledStreamIsFreeForTheNext) {
  const uint64_t session = OpenSession();
  v1::BatchRequest batch;
  batch.set_session(session);
  for (int i = 0; i < 1000; ++i)
    batch.add_operations()->mutable_stat()->set_path("/");
  // More than were posted at the start.
  for (int i = 0; i < 100; ++i) {
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = stub().Batch(&context);
    stream->Write(batch);
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  v1::BatchResponse response;
  EXPECT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_EQ(response.results_size(), 1000);
}

TEST_P(BatchTest, ManyStreamsAtOnce) {
  const uint64_t session = OpenSession();
  struct Stream {
    grpc::ClientContext context;
    std::unique_ptr<
        grpc::ClientReaderWriter<v1::BatchRequest, v1::BatchResponse>>
        stream;
  };
  std::vector<std::unique_ptr<Stream>> streams;
  v1::BatchRequest batch;
  batch.set_session(session);
  batch.add_operations()->mutable_stat()->set_path("/");
  for (int i = 0; i < 150; ++i) {
    auto& stream = *streams.emplace_back(std::make_unique<Stream>());
    SetDeadline(stream.context);
    stream.stream = stub().Batch(&stream.context);
    ASSERT_TRUE(stream.stream->Write(batch));
  }
  for (const auto& stream : streams) {
    v1::BatchResponse response;
    ASSERT_TRUE(stream->stream->Read(&response));
    EXPECT_EQ(response.results_size(), 1);
    stream->stream->WritesDone();
    EXPECT_TRUE(stream->stream->Finish().ok());
  }
}

TEST_P(BatchTest, RetriesInABatchGetTheFirstAnswer) {
  v1::BatchRequest batch;
  batch.set_session(OpenSession());
  for (int i = 0; i < 2; ++i) {
    auto* open = batch.add_operations()->mutable_open();
    open->set_path("/");
    open->set_request_id(5);
  }
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  EXPECT_EQ(response.results(0).open().handle(),
            response.results(1).open().handle());
}

}  // namespace
}  // namespace vfsd::contract
