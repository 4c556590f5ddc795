// One phase of a run: one mix, unary or batched, warmed up and measured.
//
// Prepares connections, sessions, units and workers; starts the workers
// together; reads the recorders' totals at the start and the end of the
// measurement; lets every unit that has begun end; closes the sessions. What
// was measured is returned even when something went wrong. Run from one thread.
#ifndef CLIENT_LOAD_PHASE_H_
#define CLIENT_LOAD_PHASE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/lib/address.h"
#include "client/lib/error.h"
#include "client/load/arrival_plan.h"
#include "client/load/connection.h"
#include "client/load/file_catalog.h"
#include "client/load/rate_profile.h"
#include "client/load/run_status.h"
#include "client/load/scenario.h"
#include "client/load/timeline.h"

namespace vfsload {

// Operations start when the plan says so, whatever the answers do.
struct OpenLoop {
  RateProfile profile;
  Arrivals arrivals = Arrivals::kConstant;
  // What would start later than this after its time is dropped.
  std::optional<std::chrono::nanoseconds> max_late;
};

struct PhaseOptions {
  const Mix* mix = nullptr;
  // Most operations a message; 0 or 1: unary calls.
  size_t batch = 1;
  // Batched: in columns.
  bool columns = false;
  size_t threads = 1;
  size_t connections = 4;
  // Calls or messages in flight, over all connections.
  size_t in_flight = 32;
  // Zero: until interrupted.
  std::chrono::nanoseconds duration{0};
  std::chrono::nanoseconds warmup{0};
  // Instead of a duration: so many units for each thread, all started together.
  std::optional<uint64_t> count;
  // None: a closed loop.
  std::optional<OpenLoop> open_loop;

  bool batched() const { return batch > 1; }
  // "unary", "batch 1000" or "columns 1000".
  std::string Mode() const;
  // "closed" or "open, constant 5000/s".
  std::string Loop() const;
};

// What stays the same from phase to phase; all outlive it.
struct PhaseEnvironment {
  const vfsclient::Address& address;
  const Identity& identity;
  // For preparing and tidying up.
  const vfsclient::Session& session;
  const FileCatalog& catalog;
  RunStatus& status;
  // Where the server's metrics are, if wanted.
  const std::optional<vfsclient::Address>& server_metrics;
  // The directory in which a private directory is made, and its name.
  std::string directory_parent;
  std::string directory_name;
  std::string proc_file;
  uint64_t seed = 1;
  // Called once a second: seconds since the start of the phase, and what
  // happened in the last second.
  std::function<void(double seconds, const Totals& delta)> tick;
};

struct PhaseResult {
  PhaseOptions options;
  std::string scenario;
  // The measured time, and what happened in it.
  std::chrono::nanoseconds measured{0};
  Totals totals;
  // In an open loop: what the plan wanted in the measured time.
  double planned_operations = 0;
  Timeline timeline;
  // Wrong answers of the whole phase, warm-up and end included.
  uint64_t wrong = 0;
  double client_cpu_seconds = 0;
  // CPUs of the machine, if the server runs on it too; else 0.
  double shared_cpus = 0;
  std::optional<double> server_cpu_seconds;
  // A call failed without an answer of the file system.
  std::optional<vfsclient::Error> failure;
  std::vector<std::string> complaints;
  // Handles that the load should have closed, and that were still open when
  // its sessions ended.
  uint64_t leaked_handles = 0;
  bool interrupted = false;

  bool ok() const { return wrong == 0 && !failure && leaked_handles == 0; }
};

// Why a phase could not start.
struct PhaseFailure {
  std::string text;
  // The server cannot be reached, as opposed to: it says no.
  bool unreachable = false;
};

std::expected<PhaseResult, PhaseFailure> RunPhase(
    const PhaseEnvironment& environment, const PhaseOptions& options);

// Whether the error means that there is no server any more.
bool IsUnreachable(const vfsclient::Error& error);

}  // namespace vfsload

#endif  // CLIENT_LOAD_PHASE_H_
