// vfsd: wires the parts together, serves until a signal comes, drains, ends.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <cstdio>
#include <expected>
#include <memory>
#include <string>

#include "server/base/build_info.h"
#include "server/main/instance.h"
#include "server/main/log.h"
#include "server/main/options.h"
#include "server/main/ready_file.h"
#include "server/main/termination.h"
#include "server/metrics/metrics_server.h"
#include "server/rpc/cpu_allowance.h"
#include "server/rpc/grpc_log.h"
#include "server/rpc/server.h"
#include "server/storage/snapshot_writer.h"

namespace vfsd {
namespace {

// Messages of batches are large, come and go: with glibc's defaults their
// memory goes back to the kernel each time and is faulted in again, which costs
// more than everything else that a batch does (4 against 29 million operations
// a second were measured).
void TuneAllocator() {
  constexpr int kMebibyte = 1024 * 1024;
  mallopt(M_TRIM_THRESHOLD, 256 * kMebibyte);
  mallopt(M_TOP_PAD, 16 * kMebibyte);
  mallopt(M_MMAP_THRESHOLD, 32 * kMebibyte);
}

int Fail(const std::string& why) {
  fmt::print(stderr, "vfsd: {}\n", why);
  return 1;
}

metrics::MetricsSources Sources(const Options& options, Instance& instance,
                                const rpc::Server& server) {
  return {.vfs = instance.vfs(),
          .operations = instance.executor().counters(),
          .sessions = instance.sessions(),
          .calls = server.statistics(),
          .build = {{"version", std::string(build_info::Version())},
                    {"revision", std::string(build_info::Revision())},
                    {"compiler", std::string(build_info::Compiler())},
                    {"grpc_version", rpc::GrpcVersion()}},
          .config = {{"api", "async"},
                     {"cpus", std::to_string(rpc::CpuAllowance())},
                     {"queues", std::to_string(server.queues())},
                     {"fast_paths", options.fast_paths},
                     {"credentials", options.credentials}}};
}

int Run(const Options& options) {
  SetUpLog(options.log_level, options.log_format);
  Termination termination;  // its thread logs
  spdlog::info("vfsd {} starts", build_info::Version());

  std::expected<std::unique_ptr<Instance>, std::string> instance =
      Instance::Create(options.instance);
  if (!instance.has_value()) return Fail(instance.error());
  if (!options.write_snapshot.empty()) {
    std::expected<storage::ImportReport, std::string> report =
        storage::WriteSnapshot((*instance)->vfs().top().file_system(),
                               options.write_snapshot);
    if (!report.has_value()) return Fail(report.error());
    spdlog::info("wrote {}: {}", options.write_snapshot,
                 storage::ImportReportText(*report));
    return 0;
  }
  std::expected<std::unique_ptr<rpc::Server>, std::string> server =
      rpc::Server::Start(options.server, (*instance)->backend());
  if (!server.has_value()) return Fail(server.error());
  termination.Serve();

  std::unique_ptr<metrics::MetricsServer> metrics;
  if (options.metrics.has_value()) {
    std::expected<std::unique_ptr<metrics::MetricsServer>, std::string>
        started = metrics::MetricsServer::Start(
            *options.metrics, Sources(options, **instance, **server));
    if (!started.has_value()) return Fail(started.error());
    metrics = *std::move(started);
  }
  const std::string metrics_address =
      metrics != nullptr ? metrics->address() : std::string();
  spdlog::info(
      "serving on {}; metrics: {}; CPUs: {}; queues: {}; fast paths: {}",
      fmt::join((*server)->addresses(), ", "),
      metrics_address.empty() ? "off"
                              : "http://" + metrics_address + "/metrics",
      rpc::CpuAllowance(), (*server)->queues(), options.fast_paths);
  // Last: whoever waits for it finds all of the above done, and logged.
  std::unique_ptr<ReadyFile> ready;
  if (!options.ready_file.empty()) {
    std::expected<std::unique_ptr<ReadyFile>, std::string> written =
        ReadyFile::Write(options.ready_file, (*server)->addresses(),
                         metrics_address);
    if (!written.has_value()) return Fail(written.error());
    ready = *std::move(written);
  }

  termination.Wait();
  ready.reset();
  (*server)->Shutdown(std::chrono::system_clock::now() + options.drain_timeout);
  metrics.reset();
  spdlog::info("drained; bye");
  return 0;
}

}  // namespace
}  // namespace vfsd

int main(int argc, char** argv) {
  vfsd::TuneAllocator();
  int exit_code = 0;
  const std::optional<vfsd::Options> options =
      vfsd::ParseOptions(argc, argv, exit_code);
  return options.has_value() ? vfsd::Run(*options) : exit_code;
}
