#include "client/load/run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <random>
#include <utility>

#include "client/lib/address.h"
#include "client/lib/channel.h"
#include "client/load/duration.h"
#include "client/load/interrupt.h"
#include "client/load/json_report.h"
#include "client/load/metrics_endpoint.h"
#include "client/load/report.h"
#include "client/load/server_metrics.h"

namespace vfsload {
namespace {

using vfsclient::Address;
using vfsclient::Error;

constexpr size_t kMaxThreads = 4096;
constexpr size_t kMaxInFlight = 65536;
constexpr size_t kMaxBatch = 1'000'000;
constexpr std::chrono::milliseconds kConnectTimeout{5'000};

// The files of a tree that this run makes where there is none.
constexpr size_t kOwnDirectories = 8;
constexpr size_t kOwnFiles = 16;

template <class... Args>
ExitStatus Complain(ExitStatus status, fmt::format_string<Args...> format,
                    Args&&... args) {
  fmt::print(stderr, "vfsload: {}\n",
             fmt::format(format, std::forward<Args>(args)...));
  return status;
}

// Everything that can be said to be wrong before talking to a server.
struct ParsedOptions {
  Address address;
  std::optional<Address> server_metrics;
  std::vector<Mix> mixes;
  std::chrono::nanoseconds linger{0};
  Identity identity;
  Slo slo;
};

std::expected<ParsedOptions, std::string> ParseOptions(
    const RunOptions& options) {
  const auto address = Address::Parse(options.target);
  if (!address) return std::unexpected("--target: " + address.error());
  ParsedOptions parsed{*address, std::nullopt, {}, {}, {}, {}};
  if (!options.server_metrics.empty()) {
    const auto metrics = Address::Parse(options.server_metrics);
    if (!metrics) {
      return std::unexpected("--server-metrics: " + metrics.error());
    }
    if (metrics->IsUnix()) {
      return std::unexpected("--server-metrics: want host:port");
    }
    parsed.server_metrics = *metrics;
  }
  for (const std::string& text : options.scenarios) {
    auto mix = Mix::Parse(text);
    if (!mix) return std::unexpected("--scenario: " + mix.error());
    parsed.mixes.push_back(*std::move(mix));
  }
  const auto linger = ParseDuration(options.linger);
  if (!linger) return std::unexpected("--linger: " + linger.error());
  parsed.linger = *linger;
  if (!options.slo.empty()) {
    auto slo = Slo::Parse(options.slo);
    if (!slo) return std::unexpected("--slo: " + slo.error());
    parsed.slo = *std::move(slo);
  }
  if (options.anonymous && (options.uid || options.gid)) {
    return std::unexpected("--anonymous goes with neither --uid nor --gid");
  }
  parsed.identity.anonymous = options.anonymous;
  parsed.identity.uid = options.uid.value_or(0);
  parsed.identity.gid = options.gid.value_or(parsed.identity.uid);
  return parsed;
}

std::string MakeRunId() {
  std::random_device random;
  return fmt::format("{:x}-{:06x}", static_cast<uint64_t>(time(nullptr)),
                     random() & 0xffffff);
}

std::string NowText() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", parts);
}

// A small tree of our own, for servers that hold no regular file.
std::expected<PrivateDirectory, Error> MakeOwnTree(
    const vfsclient::Session& session, const std::string& parent,
    const std::string& name) {
  auto tree = PrivateDirectory::Make(session, parent, name + "-tree");
  if (!tree) return tree;
  for (size_t i = 0; i < kOwnDirectories; ++i) {
    const std::string directory = fmt::format("directory-{}", i);
    if (auto made = tree->AddDirectory(directory); !made) {
      return std::unexpected(made.error());
    }
    for (size_t k = 0; k < kOwnFiles; ++k) {
      auto made = tree->AddFile(fmt::format("{}/file-{}", directory, k));
      if (!made) return std::unexpected(made.error());
    }
  }
  return tree;
}

class RunCommand {
 public:
  RunCommand(const RunOptions& options, ParsedOptions parsed,
             std::vector<PhaseOptions> phases)
      : options_(options),
        parsed_(std::move(parsed)),
        phases_(std::move(phases)),
        status_(MakeRunId(), MostThreads()) {}

  ExitStatus Execute() {
    header_.run_id = status_.run_id();
    header_.target = options_.target;
    header_.started = NowText();
    header_.slo = parsed_.slo;
    if (!options_.json.empty()) {
      json_.open(options_.json);
      if (!json_) {
        return Complain(ExitStatus::kUsage, "--json: cannot write {}",
                        options_.json);
      }
    }
    if (!options_.metrics.empty()) {
      auto endpoint = MetricsEndpoint::Start(options_.metrics, status_);
      if (!endpoint) {
        return Complain(ExitStatus::kUsage, "--metrics: {}", endpoint.error());
      }
      endpoint_ = *std::move(endpoint);
      Say("metrics on http://{}/metrics", endpoint_->address());
    }
    // Measured phases count, whatever happens in a later one.
    ExitStatus status = RunPhases();
    status_.SetStage(Stage::kDone);
    if (status == ExitStatus::kOk) status = Judge();
    // What cannot be written is as wrong as what cannot be measured.
    if (!Report(status) && status == ExitStatus::kOk) {
      status = ExitStatus::kWrong;
    }
    if (endpoint_ != nullptr && parsed_.linger.count() > 0 && !Interrupted()) {
      Say("metrics stay until they are scraped, at most for {}",
          DurationText(parsed_.linger));
      Linger();
    }
    return status;
  }

 private:
  // Until the last totals were read, or the time is over.
  void Linger() const {
    constexpr std::chrono::milliseconds kLook{20}, kReplyGoesOut{200};
    const auto end = std::chrono::steady_clock::now() + parsed_.linger;
    while (!endpoint_->final_scraped() && !Interrupted() &&
           std::chrono::steady_clock::now() < end) {
      SleepUntil(std::chrono::steady_clock::now() + kLook);
    }
    if (endpoint_->final_scraped()) {
      SleepUntil(std::chrono::steady_clock::now() + kReplyGoesOut);
    }
  }

  size_t MostThreads() const {
    size_t most = 1;
    for (const PhaseOptions& phase : phases_) {
      most = std::max(most, phase.threads);
    }
    return most;
  }

  template <class... Args>
  void Say(fmt::format_string<Args...> format, Args&&... args) const {
    if (options_.quiet) return;
    fmt::print(stderr, "vfsload: {}\n",
               fmt::format(format, std::forward<Args>(args)...));
  }

  ExitStatus OpenControlSession() {
    auto channel = vfsclient::Connect(parsed_.address, kConnectTimeout);
    if (!channel) {
      return Complain(ExitStatus::kUnreachable, "{}", channel.error().Text());
    }
    auto session = vfsclient::Session::Start(
        *channel, SessionOptionsFor(parsed_.identity, /*keep_alive=*/true));
    const bool chosen = options_.uid || options_.gid || options_.anonymous;
    if (!session && session.error().Name() == "CREDENTIALS_DENIED" && !chosen) {
      Say("the server lets nobody act as root; going on as its anonymous "
          "caller");
      parsed_.identity.anonymous = true;
      session = vfsclient::Session::Start(
          *channel, SessionOptionsFor(parsed_.identity, /*keep_alive=*/true));
    }
    if (!session) {
      return Complain(IsUnreachable(session.error()) ? ExitStatus::kUnreachable
                                                     : ExitStatus::kWrong,
                      "cannot open a session: {}", session.error().Text());
    }
    session_.emplace(*std::move(session));
    return ExitStatus::kOk;
  }

  ExitStatus FindFiles() {
    if (std::ranges::none_of(parsed_.mixes, &Mix::NeedsFiles)) {
      return ExitStatus::kOk;
    }
    CatalogOptions catalog{options_.tree, options_.files, 2000, options_.seed};
    auto found = DiscoverFiles(*session_, catalog);
    if (!found) {
      return Complain(IsUnreachable(found.error()) ? ExitStatus::kUnreachable
                                                   : ExitStatus::kWrong,
                      "cannot walk {}: {}", options_.tree,
                      found.error().Text());
    }
    if (found->files.empty()) {
      auto tree = MakeOwnTree(*session_, options_.tree, status_.run_id());
      if (!tree) {
        return Complain(
            ExitStatus::kWrong,
            "there is no readable file under {}, and none can be made there: "
            "{}; serve a tree (vfsd --import), or use another --tree or --uid",
            options_.tree, tree.error().Text());
      }
      own_tree_.emplace(*std::move(tree));
      catalog.root = own_tree_->path();
      found = DiscoverFiles(*session_, catalog);
      if (!found || found->files.empty()) {
        return Complain(ExitStatus::kWrong, "cannot use {}, just made",
                        own_tree_->path());
      }
      Say("there is no readable file under {}; made a few in {}", options_.tree,
          own_tree_->path());
    }
    catalog_ = *std::move(found);
    Say("found {} files and {} directories under {}{}", catalog_.files.size(),
        catalog_.directories.size(), options_.tree,
        catalog_.unreadable_directories == 0
            ? ""
            : fmt::format(" ({} directories cannot be listed)",
                          catalog_.unreadable_directories));
    return ExitStatus::kOk;
  }

  ExitStatus RunPhases() {
    if (auto status = OpenControlSession(); status != ExitStatus::kOk) {
      return status;
    }
    if (parsed_.server_metrics) {
      // Said once, now, rather than as a column of dashes at the end.
      const auto cpu = FetchServerCpuSeconds(*parsed_.server_metrics);
      if (!cpu) return Complain(ExitStatus::kUnreachable, "{}", cpu.error());
    }
    if (auto status = FindFiles(); status != ExitStatus::kOk) return status;
    const PhaseEnvironment environment{
        parsed_.address,
        parsed_.identity,
        *session_,
        catalog_,
        status_,
        parsed_.server_metrics,
        options_.tree,
        status_.run_id(),
        options_.proc_file,
        options_.seed,
        [this](double seconds, const Totals& delta) {
          if (options_.quiet) return;
          fmt::print(stderr, "{}\n",
                     LiveLine(status_.description(), seconds, delta));
        }};
    for (const PhaseOptions& phase : phases_) {
      if (Interrupted()) break;
      auto result = RunPhase(environment, phase);
      if (!result) {
        return Complain(result.error().unreachable ? ExitStatus::kUnreachable
                                                   : ExitStatus::kWrong,
                        "{}", result.error().text);
      }
      const bool lost = result->failure && IsUnreachable(*result->failure);
      results_.push_back(*std::move(result));
      if (lost) {
        if (own_tree_) own_tree_->Abandon();
        session_->Abandon();
        break;
      }
    }
    return ExitStatus::kOk;
  }

  ExitStatus Judge() const {
    ExitStatus status = ExitStatus::kOk;
    for (const PhaseResult& result : results_) {
      if (result.failure && IsUnreachable(*result.failure)) {
        return ExitStatus::kUnreachable;
      }
      if (!result.ok()) status = ExitStatus::kWrong;
      if (status == ExitStatus::kOk && !AllMet(parsed_.slo.Judge(result))) {
        status = ExitStatus::kSloMissed;
      }
    }
    return status;
  }

  // Whether all of it could be written.
  bool Report(ExitStatus status) {
    header_.interrupted = Interrupted();
    header_.exit_status = static_cast<int>(status);
    if (!results_.empty()) {
      fmt::print("{}", Table(results_));
      if (!parsed_.slo.empty()) {
        fmt::print("\n{}", SloTable(results_, parsed_.slo));
      }
      if (options_.count) fmt::print("\n{}", CountTable(results_));
      std::fflush(stdout);
    }
    fmt::print(stderr, "{}", Complaints(results_));
    if (json_.is_open()) {
      json_ << JsonReport(header_, results_)
                   .dump(2, ' ', false,
                         nlohmann::ordered_json::error_handler_t::replace)
            << '\n';
      json_.close();
      if (!json_) {
        fmt::print(stderr, "vfsload: cannot write {}\n", options_.json);
        return false;
      }
    }
    return true;
  }

  const RunOptions& options_;
  ParsedOptions parsed_;
  std::vector<PhaseOptions> phases_;
  RunStatus status_;
  RunHeader header_;
  std::ofstream json_;
  std::unique_ptr<MetricsEndpoint> endpoint_;
  std::optional<vfsclient::Session> session_;
  std::optional<PrivateDirectory> own_tree_;  // uses session_
  FileCatalog catalog_;
  std::vector<PhaseResult> results_;
};

std::expected<std::optional<OpenLoop>, std::string> ParseLoop(
    const RunOptions& options, std::chrono::nanoseconds duration) {
  if (options.mode == "closed") {
    if (!options.rate.empty() || !options.max_late.empty()) {
      return std::unexpected("--rate and --max-late go with --mode open");
    }
    return std::nullopt;
  }
  if (options.mode != "open") {
    return std::unexpected("--mode: want closed or open");
  }
  if (options.rate.empty()) {
    return std::unexpected("--mode open needs a --rate");
  }
  if (options.count) return std::unexpected("--count goes with --mode closed");
  auto profile = RateProfile::Parse(
      options.rate, std::chrono::duration<double>(duration).count());
  if (!profile) return std::unexpected("--rate: " + profile.error());
  if (duration.count() == 0 && profile->parts().size() > 1) {
    return std::unexpected("--rate: steps and ramps need a --duration");
  }
  OpenLoop loop{*std::move(profile), Arrivals::kConstant, std::nullopt};
  if (options.arrivals == "poisson") {
    loop.arrivals = Arrivals::kPoisson;
  } else if (options.arrivals != "constant") {
    return std::unexpected("--arrivals: want constant or poisson");
  }
  if (!options.max_late.empty()) {
    const auto late = ParseDuration(options.max_late);
    if (!late) return std::unexpected("--max-late: " + late.error());
    loop.max_late = *late;
  }
  return loop;
}

}  // namespace

std::expected<std::vector<PhaseOptions>, std::string> PlanPhases(
    const RunOptions& options, const std::vector<Mix>& mixes) {
  const auto duration = ParseDuration(options.duration);
  if (!duration) return std::unexpected("--duration: " + duration.error());
  const auto warmup = ParseDuration(options.warmup);
  if (!warmup) return std::unexpected("--warmup: " + warmup.error());
  auto loop = ParseLoop(options, *duration);
  if (!loop) return std::unexpected(loop.error());
  if (options.threads == 0 || options.threads > kMaxThreads) {
    return std::unexpected(fmt::format("--threads: want 1 to {}", kMaxThreads));
  }
  if (options.count && *options.count == 0) {
    return std::unexpected("--count: want at least 1");
  }
  if (options.connections > kMaxInFlight || options.in_flight > kMaxInFlight) {
    return std::unexpected(fmt::format(
        "--connections and --inflight: want at most {}", kMaxInFlight));
  }
  if (duration->count() == 0 && !options.count &&
      mixes.size() * options.batches.size() > 1) {
    return std::unexpected(
        "--duration 0 (until Ctrl-C) leaves no time for a second phase");
  }
  std::vector<PhaseOptions> phases;
  for (const Mix& mix : mixes) {
    for (const size_t batch : options.batches) {
      if (batch > kMaxBatch) {
        return std::unexpected(
            fmt::format("--batch: want at most {}", kMaxBatch));
      }
      PhaseOptions phase;
      phase.mix = &mix;
      phase.batch = std::max<size_t>(batch, 1);
      phase.columns = options.columns;
      phase.threads = options.threads;
      phase.duration = *duration;
      phase.warmup = options.count ? std::chrono::nanoseconds(0) : *warmup;
      phase.count = options.count;
      phase.open_loop = *loop;
      constexpr size_t kUnaryConnections = 4, kUnaryInFlight = 32,
                       kBatchWindow = 8, kOpenInFlight = 128;
      // Many threads on few connections wake each other more than they work.
      constexpr size_t kThreadsShare = 16, kMostShared = 64;
      phase.connections = options.connections;
      if (phase.connections == 0) {
        phase.connections =
            phase.batched() ? phase.threads
            : options.count
                ? std::clamp(phase.threads / kThreadsShare,
                             std::min(phase.threads, kUnaryConnections),
                             kMostShared)
                : kUnaryConnections;
        if (options.in_flight != 0) {
          phase.connections = std::min(phase.connections, options.in_flight);
        }
      }
      const size_t lanes = std::max(phase.threads, phase.connections);
      phase.in_flight = options.in_flight;
      if (phase.in_flight == 0) {
        phase.in_flight = options.count     ? lanes
                          : phase.batched() ? lanes * kBatchWindow
                          : phase.open_loop ? std::max(kOpenInFlight, lanes)
                                            : std::max(kUnaryInFlight, lanes);
      }
      if (phase.in_flight < lanes) {
        return std::unexpected(fmt::format(
            "--inflight {}: every thread and every connection needs one in "
            "flight, so at least {}",
            phase.in_flight, lanes));
      }
      phases.push_back(phase);
    }
  }
  return phases;
}

ExitStatus Run(const RunOptions& options) {
  auto parsed = ParseOptions(options);
  if (!parsed) return Complain(ExitStatus::kUsage, "{}", parsed.error());
  auto phases = PlanPhases(options, parsed->mixes);
  if (!phases) return Complain(ExitStatus::kUsage, "{}", phases.error());
  InstallInterrupt();
  // The mixes stay where they are when the vector that holds them moves.
  RunCommand command(options, *std::move(parsed), *std::move(phases));
  return command.Execute();
}

}  // namespace vfsload
