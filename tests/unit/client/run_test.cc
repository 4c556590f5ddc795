// Whole runs of vfsload against a server that answers what the test says.
#include "client/load/run.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "client/lib/address.h"
#include "client/load/metrics_endpoint.h"
#include "client/load/server_metrics.h"
#include "tests/unit/client/fake_server.h"

namespace vfsload {
namespace {

using vfs::v1::BatchOperation;
using vfs::v1::BatchResult;

// A tree of one directory with two files, whose open files are counted.
class FakeTree {
 public:
  BatchResult Answer(const BatchOperation& operation) {
    BatchResult result;
    switch (operation.kind_case()) {
      case BatchOperation::kOpen: {
        const std::string& path = operation.open().path();
        if (path.find("missing") != std::string::npos) {
          result.set_errno_code(missing_errno);
          break;
        }
        ++open_files;
        result.mutable_open()->set_handle(++next_handle_);
        break;
      }
      case BatchOperation::kClose:
        --open_files;
        break;
      case BatchOperation::kStat:
        result.mutable_stat()->set_mode(0100644);
        result.mutable_stat()->set_ino(ino);
        break;
      case BatchOperation::kRead:
        if (operation.read().offset() == 0) {
          result.mutable_read()->set_data("fake\n");
        }
        break;
      case BatchOperation::kReadDirectory:
        List(operation.read_directory().path(), &result);
        break;
      default:
        break;
    }
    return result;
  }

  std::atomic<int> missing_errno = 2;
  std::atomic<uint64_t> ino = 10;
  std::atomic<int> open_files = 0;

 private:
  static void List(const std::string& path, BatchResult* result) {
    auto* page = result->mutable_read_directory();
    const auto add = [page](const char* name, uint32_t mode) {
      auto* entry = page->add_entries();
      entry->set_name(name);
      entry->mutable_attributes()->set_mode(mode);
      entry->mutable_attributes()->set_ino(10);
    };
    if (path == "/") {
      add("directory", 0040755);
    } else {
      add("file", 0100644);
    }
  }

  std::atomic<uint64_t> next_handle_ = 0;
};

class RunTest : public testing::Test {
 protected:
  RunTest() {
    server_.answer = [this](const BatchOperation& operation) {
      return tree_.Answer(operation);
    };
    options_.target = server_.address();
    options_.duration = "200ms";
    options_.warmup = "0";
    options_.quiet = true;
    options_.in_flight = 4;
    options_.json =
        (std::filesystem::path(testing::TempDir()) /
         testing::UnitTest::GetInstance()->current_test_info()->name())
            .string() +
        ".json";
  }

  nlohmann::json Json() const {
    std::ifstream file(options_.json);
    return nlohmann::json::parse(file);
  }

  FakeTree tree_;
  FakeServer server_;
  RunOptions options_;
};

TEST_F(RunTest, RightAnswersAreOkAndNothingStaysOpen) {
  options_.scenarios = {"openro3", "openneg", "fstat", "statx-null",
                        "procread"};
  options_.batches = {1, 100};
  options_.duration = "50ms";
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kOk);
  const auto json = Json();
  ASSERT_EQ(json["phases"].size(), 10u);
  for (const auto& phase : json["phases"]) {
    EXPECT_GT(phase["operations"], 0) << phase;
    EXPECT_EQ(phase["wrong"], 0) << phase;
  }
  // Held files are closed with their session, which this server does not act
  // out: 2 phases with held files, unary on 4 connections, batched on 1, of one
  // file each.
  EXPECT_EQ(tree_.open_files, 2 * (4 + 1));
  EXPECT_EQ(server_.open_sessions, 0);
}

TEST_F(RunTest, MixesAreCountedByOperation) {
  options_.scenarios = {"openneg=1,statx-path=1"};
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kOk);
  const auto results = Json()["phases"][0]["results"];
  EXPECT_GT(results["open"]["ENOENT"], 0);
  EXPECT_GT(results["stat"]["ok"], 0);
}

TEST_F(RunTest, AWrongErrnoIsWrong) {
  tree_.missing_errno = 13;
  for (const size_t batch : {1u, 50u}) {
    options_.scenarios = {"openneg"};
    options_.batches = {batch};
    EXPECT_EQ(vfsload::Run(options_), ExitStatus::kWrong);
    const auto phase = Json()["phases"][0];
    EXPECT_GT(phase["wrong"], 0);
    EXPECT_GT(phase["results"]["open"]["EACCES"], 0);
    EXPECT_FALSE(phase["wrong_samples"].empty());
  }
}

TEST_F(RunTest, AWrongInodeIsWrong) {
  tree_.ino = 11;
  for (const size_t batch : {1u, 50u}) {
    options_.scenarios = {"statx-path"};
    options_.batches = {batch};
    EXPECT_EQ(vfsload::Run(options_), ExitStatus::kWrong);
    EXPECT_GT(Json()["phases"][0]["wrong"], 0);
  }
}

TEST_F(RunTest, AnAnswerThatTurnsWrongLaterIsNoticed) {
  options_.scenarios = {"statx-path"};
  options_.batches = {50};
  options_.duration = "2s";
  std::jthread changer([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    tree_.ino = 11;
  });
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kWrong);
}

TEST_F(RunTest, AnErrnoInAStatusIsAnAnswer) {
  server_.open_errors_as_status = true;
  options_.scenarios = {"openneg"};
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kOk);
  const auto phase = Json()["phases"][0];
  EXPECT_EQ(phase["results"]["open"]["ENOENT"], phase["operations"]);
  EXPECT_TRUE(phase["failed_calls"].empty());
  EXPECT_GT(phase["latency"]["count"], 0);
}

TEST_F(RunTest, AServiceReasonIsAnUnexpectedError) {
  std::atomic<int> calls = 0;
  server_.fail = [&] {
    return ++calls > 200 ? StatusWithReason(grpc::StatusCode::UNAUTHENTICATED,
                                            "SESSION_EXPIRED")
                         : grpc::Status::OK;
  };
  options_.scenarios = {"openneg"};
  options_.duration = "5s";
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kWrong);
  EXPECT_EQ(Json()["phases"][0]["failure"],
            "as the server words it (SESSION_EXPIRED)");
}

TEST_F(RunTest, AServerThatDiesIsReportedWithWhatWasMeasured) {
  for (const size_t batch : {1u, 50u}) {
    FakeServer server;
    server.answer = server_.answer;
    options_.target = server.address();
    options_.scenarios = {"openneg", "openro3"};
    options_.batches = {batch};
    options_.duration = "30s";
    std::jthread killer([&server] {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      server.Stop();
    });
    EXPECT_EQ(vfsload::Run(options_), ExitStatus::kUnreachable);
    const auto json = Json();
    EXPECT_EQ(json["exit_status"], 3);
    ASSERT_EQ(json["phases"].size(), 1u);
    EXPECT_GT(json["phases"][0]["operations"], 0);
  }
}

TEST_F(RunTest, NoServer) {
  options_.target = "127.0.0.1:1";
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kUnreachable);
}

TEST_F(RunTest, Usage) {
  options_.scenarios = {"nosuch"};
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kUsage);
  options_.scenarios = {"openneg"};
  options_.json = "/no/such/directory/x.json";
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kUsage);
}

TEST_F(RunTest, ABatchOverTheServersLimitIsRefusedBeforeItIsSent) {
  server_.session.set_max_batch_operations(10);
  options_.scenarios = {"openneg"};
  options_.batches = {11};
  EXPECT_EQ(vfsload::Run(options_), ExitStatus::kWrong);
}

TEST_F(RunTest, ACountedLoadDoesExactlyThat) {
  options_.scenarios = {"procread"};
  options_.threads = 3;
  options_.in_flight = 0;
  options_.count = 50;
  for (const size_t batch : {1u, 21u}) {
    options_.batches = {batch};
    EXPECT_EQ(vfsload::Run(options_), ExitStatus::kOk);
    const auto results = Json()["phases"][0]["results"];
    EXPECT_EQ(results["open"]["ok"], 150) << batch;
    EXPECT_EQ(results["read"]["ok"], 150) << batch;
    EXPECT_EQ(results["close"]["ok"], 150) << batch;
  }
}

TEST(MetricsEndpoint, ServesAllSeriesFromTheStart) {
  RunStatus status("the-run", 1);
  const auto endpoint = MetricsEndpoint::Start("127.0.0.1:0", status);
  ASSERT_TRUE(endpoint) << endpoint.error();
  const auto address = vfsclient::Address::Parse((*endpoint)->address());
  ASSERT_TRUE(address) << address.error();
  status.recorder(0).CountOperations(Operation::kOpen, 0, 3);
  status.recorder(0).RecordLatency(0, std::chrono::microseconds(15));
  status.BeginPhase("openneg", "unary", 4);
  const auto text = FetchMetrics(*address);
  ASSERT_TRUE(text) << text.error();
  for (const char* line :
       {"vfsload_ops_total{op=\"open\",result=\"ok\"} 3",
        "vfsload_ops_total{op=\"open\",result=\"ENOENT\"} 0",
        "vfsload_ops_total{op=\"rename\",result=\"ok\"} 0",
        "vfsload_phase{phase=\"warmup\"} 1", "vfsload_phase{phase=\"done\"} 0",
        "vfsload_channels 4", "vfsload_workers 1", "vfsload_inflight 0",
        "vfsload_run_info{run_id=\"the-run\",scenario=\"openneg\","
        "mode=\"unary\"",
        "vfsload_build_info{version=", "process_cpu_seconds_total ",
        "grpc_client_started_total{grpc_type=\"unary\","
        "grpc_service=\"vfs.v1.VfsService\",grpc_method=\"Open\"} 0",
        "grpc_client_handled_total{grpc_type=\"bidi_stream\","
        "grpc_service=\"vfs.v1.VfsService\",grpc_method=\"Batch\","
        "grpc_code=\"OK\"} 0",
        "grpc_client_handling_seconds_bucket{grpc_type=\"unary\","
        "grpc_service=\"vfs.v1.VfsService\",grpc_method=\"Open\",le=\"2e-05\"} "
        "1"}) {
    EXPECT_NE(text->find(line), std::string::npos) << line;
  }
}

TEST(MetricsEndpoint, AnAddressInUseIsAnError) {
  RunStatus status("run", 1);
  const auto first = MetricsEndpoint::Start("127.0.0.1:0", status);
  ASSERT_TRUE(first);
  const auto second = MetricsEndpoint::Start((*first)->address(), status);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("cannot serve metrics"), std::string::npos);
}

}  // namespace
}  // namespace vfsload
