// Runs programs on this machine's kernel and on vfsd, and compares every
// answer. `differential_test --help` tells the rest.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "server/sync/rcu.h"
#include "server/vfs/live_objects.h"
#include "tests/differential/core_runner.h"
#include "tests/differential/coverage.h"
#include "tests/differential/differences.h"
#include "tests/differential/execution.h"
#include "tests/differential/generator.h"
#include "tests/differential/kernel_runner.h"
#include "tests/differential/program_text.h"
#include "tests/differential/service_runner.h"
#include "tests/differential/shrinker.h"

namespace vfsd::differential {
namespace {

constexpr int kSkipped = 77;

struct Options {
  int64_t operations = 200'000;
  int64_t tick_programs = 60;
  uint64_t seed = 0;
  size_t max_failures = 1;
  std::string rows;
  std::string regressions;
  std::string differences;
  std::string inexpressible;
  std::vector<std::string> replay;
};

uint32_t ReadSysctl(std::string_view name) {
  std::ifstream file(fmt::format("/proc/sys/fs/{}", name));
  uint32_t value = 0;
  file >> value;
  return value;
}

vfs::VfsOptions HostOptions() {
  vfs::VfsOptions options;
  options.protected_symlinks = ReadSysctl("protected_symlinks");
  options.protected_hardlinks = ReadSysctl("protected_hardlinks");
  options.protected_fifos = ReadSysctl("protected_fifos");
  options.protected_regular = ReadSysctl("protected_regular");
  options.max_handles_per_session = kMaxHandles;
  return options;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class DifferentialTest {
 public:
  DifferentialTest(Options options, Differences& differences,
                   std::unique_ptr<KernelRunner> kernel)
      : options_(std::move(options)), differences_(differences) {
    std::vector<std::unique_ptr<Runner>> runners;
    runners.push_back(std::move(kernel));
    const auto add = [&](std::unique_ptr<VfsdRunner> runner) {
      vfsd_.push_back(runner.get());
      runners.push_back(std::move(runner));
    };
    const auto add_core = [&](std::string name, const vfs::VfsOptions& core) {
      add(std::make_unique<CoreRunner>(std::move(name), core));
    };
    const auto add_service = [&](std::string name, ServiceRunner::Calls calls) {
      add(std::make_unique<ServiceRunner>(std::move(name), calls,
                                          HostOptions()));
    };
    add_core("core", HostOptions());
    vfs::VfsOptions general = HostOptions();
    general.fast_paths = vfs::FastPathSet::None();
    add_core("core --fast-paths=none", general);
    vfs::VfsOptions locked = HostOptions();
    locked.locked_walk_only = true;
    add_core("core, locked walk", locked);
    add_service("service, unary", ServiceRunner::Calls::kUnary);
    add_service("service, batched", ServiceRunner::Calls::kBatched);
    execution_ = std::make_unique<Execution>(std::move(runners));
    sync::RcuBarrier();
    baseline_ = vfs::live_objects::TakeSnapshot();
  }

  int Run() {
    for (const std::string& path : options_.replay) RunFile(path, false);
    if (!options_.replay.empty()) return Conclude();
    if (!options_.differences.empty()) CheckDifferences();
    if (!options_.inexpressible.empty()) CheckInexpressible();
    if (!options_.rows.empty()) RunFile(options_.rows, true);
    if (std::filesystem::is_directory(options_.regressions)) {
      std::set<std::string> paths;
      for (const auto& entry :
           std::filesystem::directory_iterator(options_.regressions))
        paths.insert(entry.path());
      for (const std::string& path : paths) RunFile(path, false);
    }
    CheckObjects("the fixed programs");
    fmt::print("{} operations in fixed programs\n", operations_);
    operations_ = 0;
    RunRandom(false);
    RunRandom(true);
    return Conclude();
  }

 private:
  void RunFile(const std::string& path, bool is_table) {
    std::vector<Program> programs;
    std::string error;
    if (!ParsePrograms(ReadFile(path), programs, error)) {
      fmt::print("{}: {}\n", path, error);
      ++failures_;
      return;
    }
    if (programs.empty()) {
      fmt::print("{}: no programs\n", path);
      ++failures_;
    }
    for (const Program& program : programs) {
      operations_ += static_cast<int64_t>(program.steps.size());
      const std::optional<Failure> failure = execution_->Run(program, nullptr);
      if (failure.has_value()) Report(program, *failure);
      if (!is_table) continue;
      for (const Step& step : program.steps) {
        if (step.expected.has_value())
          table_answers_.insert({step.kind, *step.expected});
      }
    }
  }

  void RunRandom(bool ticks) {
    const auto begin = std::chrono::steady_clock::now();
    GeneratorOptions generator;
    generator.ticks = ticks;
    if (ticks) generator.steps = 30;
    const int64_t before = operations_;
    size_t since_check = 0;
    constexpr int64_t kReportInterval = 500'000;
    int64_t next_report = operations_ + kReportInterval;
    for (int64_t i = 0; failures_ < options_.max_failures; ++i) {
      if (ticks ? i >= options_.tick_programs
                : operations_ >= options_.operations)
        break;
      const uint64_t seed =
          options_.seed + 2 * static_cast<uint64_t>(i) + ticks;
      const Program program = GenerateProgram(seed, generator);
      operations_ += static_cast<int64_t>(program.steps.size());
      const std::optional<Failure> failure =
          execution_->Run(program, &coverage_);
      if (failure.has_value()) Keep(program, *failure);
      if (operations_ >= next_report) {
        next_report += kReportInterval;
        fmt::print("{} operations, up to seed {}\n", operations_, seed);
      }
      // Not after each: what is retired takes a grace period to go. Handles,
      // writers and references to mounts are counted after each.
      constexpr size_t kCheckInterval = 20;
      if (++since_check >= kCheckInterval) {
        since_check = 0;
        CheckObjects(fmt::format("programs up to seed {}", seed));
      }
    }
    CheckObjects("the last programs");
    const std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - begin;
    fmt::print("{} random operations{} on {} runners, {:.1f} s\n",
               operations_ - before, ticks ? " with a clock tick each" : "",
               execution_->runners().size(), took.count());
  }

  // A random program that failed: made small, printed, and kept.
  void Keep(const Program& program, const Failure& failure) {
    if (!execution_->Run(program, nullptr).has_value()) {
      fmt::print("\nfailed once, and did not when it was run again:\n");
      return Report(program, failure);
    }
    Program small = Shrink(program, [&](const Program& candidate) {
      return execution_->Run(candidate, nullptr).has_value();
    });
    const std::optional<Failure> again = execution_->Run(small, nullptr);
    Report(small, again.value_or(failure));
    if (options_.regressions.empty()) return;
    std::filesystem::create_directories(options_.regressions);
    const std::string path =
        fmt::format("{}/{}.program", options_.regressions, small.name);
    std::ofstream(path) << "# Found by a random run: "
                        << again.value_or(failure).what << "\n"
                        << ToText(small);
    fmt::print("kept as {}\n", path);
  }

  void Report(const Program& program, const Failure& failure) {
    ++failures_;
    fmt::print("\n{}, program {}: {}\n", failure.runner, program.name,
               failure.what);
    if (failure.step < program.steps.size())
      fmt::print("at {}\n", ToText(program.steps[failure.step]));
    fmt::print("{}", ToText(program));
    std::fflush(stdout);
  }

  void CheckObjects(std::string_view after) {
    sync::RcuBarrier();
    const vfs::live_objects::Snapshot now = vfs::live_objects::TakeSnapshot();
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] == baseline_[i]) continue;
      fmt::print("after {}: {} {} objects, {} before\n", after, now[i],
                 vfs::ObjectKindName(static_cast<vfs::ObjectKind>(i)),
                 baseline_[i]);
      ++failures_;
    }
    baseline_ = now;
  }

  // The list of deliberate differences is what the comparison goes by.
  void CheckDifferences() {
    const std::string wrong =
        Differences::CheckList(ReadFile(options_.differences));
    if (wrong.empty()) return;
    fmt::print("{}: {}", options_.differences, wrong);
    ++failures_;
  }

  // Each row that is left out says why, by one of the reasons that the file
  // explains.
  void CheckInexpressible() {
    constexpr std::string_view kReasons[] = {
        "no-pointers", "no-sizes",   "no-content", "no-programs", "no-position",
        "no-copies",   "no-drivers", "no-setting", "no-cwd",      "not-shown"};
    std::ifstream file(options_.inexpressible);
    size_t rows = 0;
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line.front() == '#') continue;
      ++rows;
      const std::string reason = line.substr(line.rfind('\t') + 1);
      if (std::count(line.begin(), line.end(), '\t') == 2 &&
          std::find(std::begin(kReasons), std::end(kReasons), reason) !=
              std::end(kReasons)) {
        continue;
      }
      fmt::print("{}: no known reason: {}\n", options_.inexpressible, line);
      ++failures_;
    }
    if (rows == 0) ++failures_;
    fmt::print("{} rows that no request can express\n", rows);
  }

  // Every rule that is there to be applied was.
  void CheckApplied() {
    fmt::print("deliberate differences applied:");
    for (size_t row = 0; row < std::size(kDifferenceRows); ++row) {
      if (kDifferenceRows[row].treatment != Treatment::kApplied) continue;
      fmt::print(" {}={}", kDifferenceRows[row].id, differences_.applied(row));
      if (differences_.applied(row) == 0) ++failures_;
    }
    fmt::print("\n");
  }

  void CheckCoverage() {
    fmt::print("\nwhat the kernel answered (operation, flag, errno=count):\n{}",
               coverage_.ToText());
    std::multimap<int64_t, std::string> rarest;
    for (const auto& [kind, error] : table_answers_) {
      rarest.emplace(coverage_.count(kind, error),
                     fmt::format("{} {}", RowOf(kind).text, ErrnoText(error)));
      if (coverage_.count(kind, error) > 0) continue;
      fmt::print("no random program got {} of {}, which the table has\n",
                 ErrnoText(error), RowOf(kind).text);
      ++failures_;
    }
    fmt::print("{} rows of the errno tables; the rarest:", rarest.size());
    constexpr int kShown = 8;
    int shown = 0;
    for (const auto& [count, row] : rarest) {
      if (++shown <= kShown) fmt::print(" {}={}", row, count);
    }
    fmt::print("\n");
  }

  // Every fast path and every general one must have been taken.
  void CheckPaths() {
    for (VfsdRunner* const runner : vfsd_) {
      const vfs::Vfs& vfs = runner->vfs();
      fmt::print("{}: {} lock-free walks, {} locked;", runner->name(),
                 vfs.fast_walks.Sum(), vfs.locked_walks.Sum());
      for (const vfs::FastPath path : vfs::kAllFastPaths) {
        fmt::print(" {} {}+{}", vfs::FastPathName(path),
                   vfs.fast_paths.hits(path), vfs.fast_paths.general(path));
        // There is no synthetic file in these namespaces.
        if (path == vfs::FastPath::kPermanent) continue;
        const int64_t wanted = vfs.fast_paths.enabled(path)
                                   ? vfs.fast_paths.hits(path)
                                   : vfs.fast_paths.general(path);
        if (wanted == 0) ++failures_;
      }
      fmt::print("\n");
      if ((vfs.options().locked_walk_only ? vfs.locked_walks : vfs.fast_walks)
              .Sum() == 0) {
        ++failures_;
      }
    }
  }

  int Conclude() {
    if (options_.replay.empty() && options_.operations > 0 && failures_ == 0) {
      CheckCoverage();
      CheckPaths();
      CheckApplied();
    }
    fmt::print("{} operations, {} {}\n", operations_, failures_,
               failures_ == 1 ? "failure" : "failures");
    return failures_ == 0 ? 0 : 1;
  }

  const Options options_;
  Differences& differences_;
  std::unique_ptr<Execution> execution_;
  std::vector<VfsdRunner*> vfsd_;
  vfs::live_objects::Snapshot baseline_;
  Coverage coverage_;
  std::set<std::pair<Kind, int32_t>> table_answers_;
  int64_t operations_ = 0;
  size_t failures_ = 0;
};

int Main(int argc, char** argv) {
  Options options;
  options.seed = std::random_device()();
  CLI::App app(
      "Runs random and written programs on this machine's kernel, on vfsd's "
      "core and on its service, and compares every answer. Needs root; exit "
      "status 77 where that "
      "is not to be had.");
  app.add_option("--operations", options.operations,
                 "Random operations to run on each side")
      ->capture_default_str();
  app.add_option("--tick-programs", options.tick_programs,
                 "Random programs whose times are compared (4 ms a step)")
      ->capture_default_str();
  app.add_option("--seed", options.seed,
                 "The first program's; default: random");
  app.add_option("--max-failures", options.max_failures,
                 "Failures after which to stop")
      ->capture_default_str();
  app.add_option("--rows", options.rows, "The errno tables");
  app.add_option("--regressions", options.regressions,
                 "Folder of programs that failed once: replayed, and added to");
  app.add_option("--inexpressible", options.inexpressible,
                 "The rows that are in no program, and why");
  app.add_option("--differences", options.differences,
                 "The list of deliberate differences");
  app.add_option("--replay", options.replay,
                 "Runs the programs of these files and nothing else");
  CLI11_PARSE(app, argc, argv);
  // What was found shows also if the program is killed.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::string again;
  for (int i = 1; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with("--seed"))
      again += fmt::format(" {}", argv[i]);
  }
  fmt::print("seed {}; to repeat: {}{} --seed={}\n", options.seed, argv[0],
             again, options.seed);

  Differences differences;
  std::string reason;
  std::unique_ptr<KernelRunner> kernel =
      KernelRunner::Make(differences, reason);
  if (kernel == nullptr) {
    fmt::print("skipped: {}\n", reason);
    return kSkipped;
  }
  return DifferentialTest(std::move(options), differences, std::move(kernel))
      .Run();
}

}  // namespace
}  // namespace vfsd::differential

int main(int argc, char** argv) { return vfsd::differential::Main(argc, argv); }
