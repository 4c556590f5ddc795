// /metrics: what a scrape finds.
#include <gmock/gmock.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <sstream>

#include "server/metrics/metrics_server.h"
#include "server/vfs/linux_abi.h"
#include "tests/contract/service_fixture.h"

namespace vfsd::contract {
namespace {

using Stub = v1::VfsService::Stub;

// The body of http://ADDRESS/metrics.
std::string Get(const std::string& address) {
  const ListenAddress parsed = ListenAddress::Parse(address).value();
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(parsed.host().c_str(), std::to_string(parsed.port()).c_str(),
                  &hints, &found) != 0) {
    return "";
  }
  const int fd = socket(found->ai_family, SOCK_STREAM, 0);
  std::string reply;
  if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
    const std::string request = "GET /metrics HTTP/1.0\r\n\r\n";
    EXPECT_EQ(write(fd, request.data(), request.size()),
              static_cast<ssize_t>(request.size()));
    char buffer[65536];
    for (ssize_t size; (size = read(fd, buffer, sizeof(buffer))) > 0;) {
      reply.append(buffer, static_cast<size_t>(size));
    }
  }
  close(fd);
  freeaddrinfo(found);
  return reply.substr(reply.find("\r\n\r\n") + 4);
}

// Series to value, as a scrape has them.
std::map<std::string, double> Series(const std::string& body) {
  std::map<std::string, double> series;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.rfind(' ');
    EXPECT_TRUE(
        series.emplace(line.substr(0, space), std::stod(line.substr(space + 1)))
            .second)
        << "twice: " << line;
  }
  return series;
}

class MetricsTest : public ServiceTest {
 protected:
  std::map<std::string, double> Scrape() {
    const auto server = metrics::MetricsServer::Start(
        ListenAddress::Parse("127.0.0.1:0").value(),
        {.vfs = service().instance().vfs(),
         .operations = service().instance().executor().counters(),
         .sessions = service().instance().sessions(),
         .calls = service().server().statistics(),
         .build = {{"version", "1"}},
         .config = {{"queues", "1"}}});
    EXPECT_TRUE(server.has_value());
    return Series(Get((*server)->address()));
  }
};
VFSD_SERVICE_TESTS(MetricsTest);

TEST_P(MetricsTest, EverySeriesIsThereFromTheStart) {
  const auto series = Scrape();
  for (const char* name :
       {"vfs_ops_total{op=\"open\",result=\"ENOENT\"}",
        "vfs_ops_total{op=\"rename\",result=\"ok\"}",
        "vfs_op_duration_seconds_count{op=\"stat\"}", "vfs_open_handles",
        "vfs_sessions", "vfs_files",
        "vfs_fast_path_hits_total{fast_path=\"release-empty\"}",
        "vfs_deferred_files_total", "vfs_never_opened_extra_references_total",
        "grpc_server_started_total{grpc_type=\"unary\",grpc_service=\"vfs.v1."
        "VfsService\","
        "grpc_method=\"Stat\"}",
        "grpc_server_handled_total{grpc_type=\"unary\",grpc_service=\"vfs.v1."
        "VfsService\","
        "grpc_method=\"Open\",grpc_code=\"NotFound\"}",
        "grpc_server_handling_seconds_count{grpc_type=\"bidi_stream\",grpc_"
        "service=\"vfs.v1."
        "VfsService\",grpc_method=\"Batch\"}",
        "grpc_server_msg_received_total{grpc_type=\"bidi_stream\",grpc_service="
        "\"vfs.v1."
        "VfsService\",grpc_method=\"Batch\"}",
        "vfsd_inflight_requests{grpc_method=\"Batch\"}"}) {
    ASSERT_TRUE(series.contains(name)) << name;
    EXPECT_EQ(series.at(name), 0) << name;
  }
  for (const char* name :
       {"vfs_inodes{type=\"directory\"}", "vfs_dentries", "vfs_mounts",
        "vfs_sessions_limit", "vfs_files_limit", "process_cpu_seconds_total",
        "process_resident_memory_bytes", "process_virtual_memory_bytes",
        "process_open_fds", "process_max_fds", "process_start_time_seconds",
        "process_threads", "vfsd_build_info{version=\"1\"}",
        "vfsd_config_info{queues=\"1\"}"}) {
    ASSERT_TRUE(series.contains(name)) << name;
    EXPECT_GT(series.at(name), 0) << name;
  }
  EXPECT_EQ(series.at("vfs_fast_path_enabled{fast_path=\"permanent\"}"),
            std::string_view(GetParam()) == "all" ? 1 : 0);
}

TEST_P(MetricsTest, OperationsCountOneByOneHoweverTheyCame) {
  const uint64_t session = OpenSession();
  v1::OpenRequest open;
  open.set_session(session);
  open.set_path("/missing");
  EXPECT_EQ(Reason(&Stub::Open, open), "ENOENT");
  v1::BatchRequest batch;
  batch.set_session(session);
  for (int i = 0; i < 10; ++i)
    batch.add_operations()->mutable_open()->set_path("/missing");
  batch.add_operations()->mutable_open()->set_path("/");
  v1::BatchResponse response;
  ASSERT_TRUE(RunBatch(batch, &response).ok());
  const auto series = Scrape();
  EXPECT_EQ(series.at("vfs_ops_total{op=\"open\",result=\"ENOENT\"}"), 11);
  EXPECT_EQ(series.at("vfs_ops_total{op=\"open\",result=\"ok\"}"), 1);
  EXPECT_EQ(series.at("vfs_open_handles"), 1);
  EXPECT_EQ(series.at("vfs_sessions"), 1);
  const std::string batch_labels =
      "{grpc_type=\"bidi_stream\",grpc_service=\"vfs.v1.VfsService\",grpc_"
      "method=\"Batch\"";
  EXPECT_EQ(series.at("grpc_server_msg_received_total" + batch_labels + "}"),
            1);
  EXPECT_EQ(series.at("grpc_server_msg_sent_total" + batch_labels + "}"), 1);
  EXPECT_EQ(series.at("grpc_server_handled_total" + batch_labels +
                      ",grpc_code=\"OK\"}"),
            1);
}

TEST_P(MetricsTest, AddressesInUseAreSaidSo) {
  const auto server = metrics::MetricsServer::Start(
      ListenAddress::Parse(service().tcp_address()).value(),
      {.vfs = service().instance().vfs(),
       .operations = service().instance().executor().counters(),
       .sessions = service().instance().sessions(),
       .calls = service().server().statistics(),
       .build = {},
       .config = {}});
  ASSERT_FALSE(server.has_value());
  EXPECT_EQ(server.error(), "cannot serve metrics on " +
                                service().tcp_address() +
                                ": Address already in use");
}

}  // namespace
}  // namespace vfsd::contract
