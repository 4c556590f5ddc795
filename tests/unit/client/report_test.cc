#include "client/load/report.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/load/json_report.h"
#include "client/load/server_metrics.h"

namespace vfsload {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

class Report : public testing::Test {
 protected:
  Report() : mix_(*Mix::Parse("openneg")) {
    Recorder recorder;
    recorder.CountOperations(Operation::kOpen, 2, 1'234'567);
    recorder.CountOperations(Operation::kOpen, 13, 1);
    recorder.CountHandled(UnaryMethod(Operation::kOpen), 14);
    recorder.CountFailed(14);
    recorder.RecordLatency(UnaryMethod(Operation::kOpen), microseconds(100));
    PhaseResult result;
    result.options.mix = &mix_;
    result.scenario = mix_.text();
    result.measured = seconds(2);
    recorder.AddTo(&result.totals);
    result.wrong = 1;
    result.client_cpu_seconds = 1.234568;
    result.complaints = {"open: EACCES instead of ENOENT"};
    results_.push_back(result);
  }

  Mix mix_;
  std::vector<PhaseResult> results_;
};

TEST_F(Report, NumbersAreGrouped) {
  EXPECT_EQ(Grouped(0), "0");
  EXPECT_EQ(Grouped(999), "999");
  EXPECT_EQ(Grouped(1000), "1,000");
  EXPECT_EQ(Grouped(1234567), "1,234,567");
}

TEST_F(Report, TableHasTheFigures) {
  const std::string table = Table(results_);
  for (const char* text :
       {"scenario", "p99.9", "server CPU/op", "openneg", "unary", "1,234,568",
        "617,284", "ENOENT 1,234,567, EACCES 1, UNAVAILABLE 1", "service time",
        "1.00 us"}) {
    EXPECT_NE(table.find(text), std::string::npos) << text << "\n" << table;
  }
}

TEST_F(Report, ComplaintsNameThePhase) {
  EXPECT_EQ(Complaints(results_),
            "wrong answer (openneg, unary): open: EACCES instead of ENOENT\n");
  results_[0].failure =
      vfsclient::Error::Transport(grpc::StatusCode::UNAVAILABLE, "gone");
  EXPECT_NE(Complaints(results_).find("failed (openneg, unary): gone"),
            std::string::npos);
}

TEST_F(Report, CountTableIsTheSeedsOwn) {
  results_[0].options.count = 4096;
  results_[0].options.threads = 64;
  EXPECT_NE(CountTable(results_).find("64  4096  2.000000"), std::string::npos)
      << CountTable(results_);
}

TEST_F(Report, JsonSchema) {
  RunHeader header;
  header.run_id = "id";
  header.target = "127.0.0.1:9150";
  header.started = "2026-01-31T12:00:00Z";
  header.exit_status = 1;
  const auto json = JsonReport(header, results_);
  EXPECT_EQ(json["schema"], "vfsload.run/1");
  for (const char* key : {"version", "revision", "run_id", "started", "target",
                          "loop", "interrupted", "exit_status", "phases"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  const auto& phase = json["phases"][0];
  for (const char* key :
       {"scenario", "mode", "batch", "threads", "connections", "in_flight",
        "count", "warmup_seconds", "seconds", "operations",
        "operations_per_second", "results", "failed_calls", "wrong",
        "wrong_samples", "failure", "latency", "server_cpu_us_per_operation",
        "client_cpu_us_per_operation"}) {
    EXPECT_TRUE(phase.contains(key)) << key;
  }
  EXPECT_EQ(phase["operations"], 1'234'568);
  EXPECT_EQ(phase["operations_per_second"], 617'284.0);
  EXPECT_EQ(phase["results"]["open"]["ENOENT"], 1'234'567);
  EXPECT_EQ(phase["failed_calls"]["UNAVAILABLE"], 1);
  EXPECT_EQ(phase["latency"]["of"], "call");
  EXPECT_EQ(phase["latency"]["kind"], "service");
  EXPECT_EQ(phase["latency"]["count"], 1);
  EXPECT_TRUE(phase["server_cpu_us_per_operation"].is_null());
  EXPECT_TRUE(phase["failure"].is_null());
}

TEST(ServerMetrics, FindsASampleWithoutLabels) {
  const std::string text =
      "# HELP process_cpu_seconds_total CPU.\n"
      "# TYPE process_cpu_seconds_total counter\n"
      "process_cpu_seconds_total_other 1\n"
      "process_cpu_seconds_total{mode=\"user\"} 2\n"
      "process_cpu_seconds_total 12.5\n";
  EXPECT_EQ(FindSample(text, "process_cpu_seconds_total"), 12.5);
  EXPECT_EQ(FindSample(text, "process_cpu"), std::nullopt);
  EXPECT_EQ(FindSample("", "x"), std::nullopt);
  EXPECT_EQ(FindSample("x 1e3", "x"), 1000);
}

TEST(ServerMetrics, NobodyThere) {
  // Port 1 of the loopback interface: reserved, nothing listens.
  const auto address = vfsclient::Address::Parse("127.0.0.1:1");
  ASSERT_TRUE(address);
  const auto cpu = FetchServerCpuSeconds(*address);
  ASSERT_FALSE(cpu);
  EXPECT_NE(cpu.error().find("127.0.0.1:1"), std::string::npos);
}

}  // namespace
}  // namespace vfsload
