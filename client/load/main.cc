// vfsload: puts load on a vfsd, and says how it bore it.

#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>

#include "client/load/replay_command.h"
#include "client/load/run.h"
#include "client/load/scenario.h"
#include "client/load/version.h"

namespace vfsload {
namespace {

constexpr const char* kFooter =
    "Exit status: 0 all answers were right; 1 wrong answers or unexpected "
    "errors; 2 usage;\n3 the server cannot be reached or went away (what was "
    "measured is printed all the same);\n4 a condition of --slo was missed.\n"
    "A first run: vfsload run --scenario openneg --batch 1,1000 --duration 5s";

// glibc gives large buffers back to the system as soon as they are free, and
// batch replies are large buffers: every message would be faulted in again,
// which costs several times what the message itself does.
void KeepLargeBuffers() {
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
}

void PrintScenarios() {
  size_t name = 0, summary = 0;
  for (const Scenario& scenario : Scenarios()) {
    name = std::max(name, scenario.name.size());
    summary = std::max(summary, scenario.summary.size());
  }
  fmt::print("{:<{}}  {:<{}}  {}\n", "scenario", name, "what it does", summary,
             "a unit of it");
  for (const Scenario& scenario : Scenarios()) {
    fmt::print("{:<{}}  {:<{}}  {}\n", scenario.name, name, scenario.summary,
               summary, scenario.unit);
  }
}

void AddRunOptions(CLI::App* run, RunOptions* options) {
  run->add_option("--target", options->target,
                  "The server: host:port or unix:PATH")
      ->capture_default_str();
  run->add_option("--scenario", options->scenarios,
                  "A scenario, or a mix NAME[=WEIGHT],... weighted by units; "
                  "repeated: one phase after the other")
      ->capture_default_str()
      ->take_all()
      ->allow_extra_args(false);
  run->add_option("--duration", options->duration,
                  "Measured time of each phase; 0: until Ctrl-C")
      ->capture_default_str();
  run->add_option("--warmup", options->warmup,
                  "Time before the measurement, of each phase")
      ->capture_default_str();
  run->add_flag("--columns", options->columns,
                "Batches in columns: operations of a kind together");
  run->add_option("--batch", options->batches,
                  "Operations a message; 0 or 1: unary calls; a list "
                  "(1,1000): each phase once for each")
      ->delimiter(',')
      ->capture_default_str()
      ->allow_extra_args(false);
  run->add_option("--threads", options->threads, "Threads of this client")
      ->capture_default_str();
  run->add_option("--connections", options->connections,
                  "Connections, each with a session; 0: 4, or batched 1 a "
                  "thread")
      ->capture_default_str();
  run->add_option("--inflight", options->in_flight,
                  "Calls, or messages, in flight over all connections; 0: 32, "
                  "or batched 8 a connection")
      ->capture_default_str();
  run->add_option("--mode", options->mode,
                  "closed: a call starts when the one before it is answered; "
                  "open: when the plan says so (--rate)")
      ->capture_default_str();
  run->add_option("--rate", options->rate,
                  "Of an open loop, in operations a second: R; steps of equal "
                  "length R,R,...; a ramp FROM:TO; or both");
  run->add_option("--arrivals", options->arrivals,
                  "Of an open loop: constant (evenly spaced) or poisson")
      ->capture_default_str();
  run->add_option("--max-late", options->max_late,
                  "Of an open loop: drop, and count, what would start later "
                  "than this after its time (default: nothing is dropped)");
  run->add_option("--count", options->count,
                  "Instead of --duration: so many units by each thread, "
                  "started together; prints the total time");
  run->add_option("--file", options->proc_file, "What procread reads")
      ->capture_default_str();
  run->add_option("--tree", options->tree,
                  "Where to look for files, and to make a private directory")
      ->capture_default_str();
  run->add_option("--files", options->files, "Most files to use")
      ->capture_default_str()
      ->check(CLI::Range(size_t{1}, size_t{1'000'000}));
  run->add_option("--seed", options->seed,
                  "For the choice of files and the order of operations")
      ->capture_default_str();
  run->add_option("--uid", options->uid, "Act as this user (default: 0)");
  run->add_option("--gid", options->gid,
                  "Act as this group (default: the uid)");
  run->add_flag("--anonymous", options->anonymous,
                "Act as the server's anonymous caller");
  run->add_option("--metrics", options->metrics,
                  "Serve Prometheus metrics on host:port (port 0 picks one)");
  run->add_option("--server-metrics", options->server_metrics,
                  "host:port of the server's metrics, for its CPU time an "
                  "operation");
  run->add_option("--json", options->json, "Write the results to this file");
  run->add_option("--slo", options->slo,
                  "What every phase has to meet, else exit status 4: "
                  "p99<2ms,errors<0.1%,ops>5000 (also p50 ... max, dropped, "
                  "late)");
  run->add_option("--linger", options->linger,
                  "Go on serving metrics after the end until they are scraped, "
                  "at most for so long")
      ->capture_default_str();
  run->add_flag("-q,--quiet", options->quiet, "No live line, only the results");
}

void AddReplayOptions(CLI::App* replay, ReplayCommandOptions* options) {
  replay
      ->add_option("--target", options->target,
                   "The server: host:port or unix:PATH")
      ->capture_default_str();
  replay
      ->add_option("--trace", options->trace,
                   "What strace -f wrote; may be compressed (.gz, .xz)")
      ->required();
  replay
      ->add_option("--batch", options->batch,
                   "Operations a message; 0 or 1: unary calls")
      ->capture_default_str()
      ->check(CLI::Range(size_t{0}, size_t{1'000'000}));
  replay
      ->add_option("--speed", options->speed,
                   "max: as fast as it goes; a factor: so much faster than "
                   "the trace was (1: its own timing; needs strace -ttt)")
      ->capture_default_str();
  replay
      ->add_option("--tree", options->tree,
                   "Where to make the directory that the namespace of the "
                   "trace is put in")
      ->capture_default_str();
  replay->add_option("--json", options->json, "Write the results to this file");
}

int Main(int argc, char** argv) {
  CLI::App app("Puts load on a vfsd, and says how it bore it.", "vfsload");
  app.set_version_flag("--version",
                       fmt::format("vfsload {} ({})", kVersion, kRevision));
  app.require_subcommand(1);
  app.footer(kFooter);

  RunOptions options;
  CLI::App* run = app.add_subcommand("run", "Run scenarios against a server");
  AddRunOptions(run, &options);
  ReplayCommandOptions replay_options;
  CLI::App* replay = app.add_subcommand(
      "replay", "Ask a server what a trace's programs asked their kernel");
  AddReplayOptions(replay, &replay_options);
  CLI::App* scenarios = app.add_subcommand("scenarios", "List the scenarios");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "vfsload: {}\nTry 'vfsload {}--help'.\n", error.what(),
               run->parsed()      ? "run "
               : replay->parsed() ? "replay "
                                  : "");
    return static_cast<int>(ExitStatus::kUsage);
  }
  if (scenarios->parsed()) {
    PrintScenarios();
    return static_cast<int>(ExitStatus::kOk);
  }
  KeepLargeBuffers();
  if (replay->parsed()) return static_cast<int>(RunReplay(replay_options));
  return static_cast<int>(Run(options));
}

}  // namespace
}  // namespace vfsload

int main(int argc, char** argv) { return vfsload::Main(argc, argv); }
