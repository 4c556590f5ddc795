// `vfsload run`: the phases one after the other, and the report.
//
// Checks and completes the options, finds files, runs every scenario unary and
// batched as asked, prints the table, writes the JSON file. What was measured
// before an error or Ctrl-C is still reported.
#ifndef CLIENT_LOAD_RUN_H_
#define CLIENT_LOAD_RUN_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "client/load/phase.h"

namespace vfsload {

enum class ExitStatus {
  kOk = 0,
  kWrong = 1,        // wrong answers or unexpected errors
  kUsage = 2,        // the command line makes no sense
  kUnreachable = 3,  // the server cannot be reached, or went away
  kSloMissed = 4,    // all was right, but not as asked for with --slo
};

// As the command line has them; 0 and empty mean "choose for me".
struct RunOptions {
  std::string target = "127.0.0.1:9150";
  std::vector<std::string> scenarios = {"build"};
  std::string duration = "10s";
  std::string warmup = "1s";
  std::vector<size_t> batches = {1};
  // Batches in columns.
  bool columns = false;
  size_t threads = 1;
  size_t connections = 0;
  size_t in_flight = 0;
  std::optional<uint64_t> count;
  std::string mode = "closed";
  std::string rate;
  std::string arrivals = "constant";
  std::string max_late;
  std::string proc_file = "/proc/version";
  std::string tree = "/";
  size_t files = 1000;
  uint64_t seed = 1;
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  bool anonymous = false;
  std::string metrics;
  std::string server_metrics;
  std::string json;
  std::string slo;
  std::string linger = "0";
  bool quiet = false;
};

// The phases that the options ask for, in their order, with every choice made:
// unary, 4 connections and 32 calls in flight; batched, a connection a thread
// and 8 messages in flight on each; an open loop has 128 places for calls; a
// counted load has one in flight a thread, and unary a connection for every 16
// threads (at least 4, at most 64). `mixes` must outlive the result. The error
// is for people.
std::expected<std::vector<PhaseOptions>, std::string> PlanPhases(
    const RunOptions& options, const std::vector<Mix>& mixes);

ExitStatus Run(const RunOptions& options);

}  // namespace vfsload

#endif  // CLIENT_LOAD_RUN_H_
