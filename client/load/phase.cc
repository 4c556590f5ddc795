#include "client/load/phase.h"

#include <fmt/format.h>

#include <algorithm>
#include <latch>
#include <memory>
#include <thread>
#include <utility>

#include "client/load/batch_lane.h"
#include "client/load/interrupt.h"
#include "client/load/pacer.h"
#include "client/load/private_directory.h"
#include "client/load/process_stats.h"
#include "client/load/run_state.h"
#include "client/load/server_metrics.h"
#include "client/load/unary_lane.h"
#include "client/load/worker.h"

namespace vfsload {
namespace {

using Clock = std::chrono::steady_clock;
using vfsclient::Error;

constexpr std::chrono::milliseconds kConnectTimeout{5'000};
// A server that answers nothing for so long is given up.
constexpr std::chrono::seconds kSilence{10};
constexpr std::chrono::seconds kTick{1};

PhaseFailure FailureOf(std::string_view doing, const Error& error) {
  return {fmt::format("{}: {}", doing, error.Text()), IsUnreachable(error)};
}

// What a measurement is the difference of.
struct Reading {
  std::optional<double> server_cpu_seconds;
  double client_cpu_seconds = 0;
  Totals totals;
  Clock::time_point at;
};

// The parts of a running phase, torn down in reverse order.
class Phase {
 public:
  Phase(const PhaseEnvironment& environment, const PhaseOptions& options)
      : environment_(environment), options_(options) {}

  std::expected<void, PhaseFailure> Prepare();
  PhaseResult Run();

 private:
  std::expected<void, PhaseFailure> PrepareDirectory();
  std::expected<void, PhaseFailure> PrepareConnections();
  std::expected<void, PhaseFailure> PrepareLanes();
  std::expected<SlotUnits, PhaseFailure> MakeUnits(size_t connection,
                                                   size_t worker, size_t slot);

  // Waits, with the live line and an eye on the server's silence, until `end`,
  // or until no worker runs.
  void Watch(std::optional<Clock::time_point> end, bool until_done);
  Reading Read() const;
  void Measure(const Reading& from, PhaseResult* result);
  std::optional<double> ServerCpu() const;
  void CloseConnections(PhaseResult* result);
  std::unique_ptr<Pacer> MakePacer(size_t worker);
  // What calls are expected to take, from what they took so far.
  void LearnDurations(const Totals& before);

  const PhaseEnvironment& environment_;
  const PhaseOptions& options_;
  RunState state_;
  ExpectedDurations expected_;
  std::optional<PrivateDirectory> directory_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<size_t> running_{0};

  Clock::time_point start_;
  Clock::time_point last_tick_;
  Totals last_totals_;
  Clock::time_point last_progress_;
  uint64_t last_answers_ = 0;
  Timeline timeline_;
};

std::unique_ptr<Pacer> Phase::MakePacer(size_t worker) {
  if (!options_.open_loop) {
    return std::make_unique<ClosedLoopPacer>(state_.stop(), options_.count);
  }
  const OpenLoop& loop = *options_.open_loop;
  ArrivalPlan plan(loop.profile, loop.arrivals, worker, options_.threads,
                   environment_.seed,
                   -std::chrono::duration<double>(options_.warmup).count());
  return std::make_unique<OpenLoopPacer>(state_.stop(), std::move(plan),
                                         environment_.status.recorder(worker),
                                         options_.warmup, loop.max_late);
}

void Phase::LearnDurations(const Totals& before) {
  Totals warm = environment_.status.Read();
  warm.Subtract(before);
  for (Method method = 0; method < kMethods; ++method) {
    expected_.Set(method, warm.latency[method].Quantile(0.5));
  }
}

std::expected<void, PhaseFailure> Phase::Prepare() {
  if (auto ready = PrepareDirectory(); !ready) return ready;
  if (auto ready = PrepareConnections(); !ready) return ready;
  return PrepareLanes();
}

std::expected<void, PhaseFailure> Phase::PrepareDirectory() {
  if (!options_.mix->NeedsDirectory()) return {};
  auto made = PrivateDirectory::Make(environment_.session,
                                     environment_.directory_parent,
                                     environment_.directory_name);
  if (!made) {
    return std::unexpected(PhaseFailure{
        fmt::format("{} changes the tree, and needs a directory of its own in "
                    "{}: {}",
                    options_.mix->text(), environment_.directory_parent,
                    made.error().Text()),
        IsUnreachable(made.error())});
  }
  directory_.emplace(*std::move(made));
  return {};
}

std::expected<void, PhaseFailure> Phase::PrepareConnections() {
  for (size_t i = 0; i < options_.connections; ++i) {
    auto connection = Connection::Open(environment_.address,
                                       environment_.identity, kConnectTimeout);
    if (!connection) {
      return std::unexpected(
          FailureOf("cannot open a session", connection.error()));
    }
    connections_.push_back(*std::move(connection));
  }
  return {};
}

std::expected<SlotUnits, PhaseFailure> Phase::MakeUnits(size_t connection,
                                                        size_t worker,
                                                        size_t slot) {
  auto units =
      options_.mix->Build({*connections_[connection], environment_.catalog,
                           directory_ ? &*directory_ : nullptr, slot, worker,
                           environment_.proc_file});
  if (!units) {
    return std::unexpected(
        PhaseFailure{fmt::format("cannot prepare {}", units.error())});
  }
  return SlotUnits{*std::move(units), environment_.seed + slot};
}

std::expected<void, PhaseFailure> Phase::PrepareLanes() {
  for (size_t i = 0; i < options_.threads; ++i) {
    workers_.push_back(std::make_unique<Worker>(
        environment_.status.recorder(i), state_, MakePacer(i), expected_));
  }
  const size_t lanes = std::max(options_.threads, options_.connections);
  size_t slot = 0;
  for (size_t i = 0; i < lanes; ++i) {
    const size_t worker = i % options_.threads;
    const size_t connection = i % options_.connections;
    const LaneContext context =
        workers_[worker]->ContextFor(*connections_[connection]);
    const size_t share =
        options_.in_flight / lanes + (i < options_.in_flight % lanes ? 1 : 0);
    if (options_.batched()) {
      auto units = MakeUnits(connection, worker, slot++);
      if (!units) return std::unexpected(units.error());
      auto lane = MakeBatchLane(context, *std::move(units),
                                {options_.batch, share, options_.columns});
      if (!lane) return std::unexpected(PhaseFailure{lane.error()});
      workers_[worker]->AddLane(*std::move(lane));
      continue;
    }
    std::vector<SlotUnits> slots;
    for (size_t k = 0; k < share; ++k) {
      auto units = MakeUnits(connection, worker, slot++);
      if (!units) return std::unexpected(units.error());
      slots.push_back(*std::move(units));
    }
    workers_[worker]->AddLane(MakeUnaryLane(context, std::move(slots)));
  }
  return {};
}

PhaseResult Phase::Run() {
  PhaseResult result;
  result.options = options_;
  result.scenario = options_.mix->text();
  if (environment_.address.IsLocal()) {
    result.shared_cpus = std::thread::hardware_concurrency();
  }
  environment_.status.BeginPhase(result.scenario, options_.Mode(),
                                 options_.connections);

  const Totals before = environment_.status.Read();
  running_ = workers_.size();
  std::latch start(static_cast<ptrdiff_t>(workers_.size() + 1));
  std::vector<std::jthread> threads;
  threads.reserve(workers_.size());
  for (const auto& worker : workers_) {
    threads.emplace_back([this, &start, worker = worker.get()] {
      start.arrive_and_wait();
      worker->Run();
      running_.fetch_sub(1);
    });
  }

  const bool warm = options_.warmup.count() > 0;
  if (!warm) environment_.status.SetStage(Stage::kMeasure);
  // Without a warm-up everything counts from the first call on.
  Reading from;
  if (!warm) from = Read();
  start_ = last_tick_ = last_progress_ = from.at = Clock::now();
  last_totals_ = before;
  last_answers_ = 0;
  start.arrive_and_wait();
  if (warm) {
    Watch(start_ + options_.warmup, /*until_done=*/false);
    LearnDurations(before);
    environment_.status.SetStage(Stage::kMeasure);
  }
  // Interrupted or broken before it began: nothing was measured.
  const bool begun = !warm || !(state_.stop() || Interrupted());
  if (begun) {
    if (warm) from = Read();
    Measure(from, &result);
  }

  environment_.status.SetStage(Stage::kCooldown);
  state_.Stop();
  Watch(std::nullopt, /*until_done=*/true);
  threads.clear();  // joins
  workers_.clear();

  Totals whole = environment_.status.Read();
  whole.Subtract(before);
  result.wrong = whole.wrong;
  result.failure = state_.failure();
  result.complaints = state_.complaints();
  result.timeline = std::move(timeline_);
  result.interrupted = Interrupted();
  CloseConnections(&result);
  return result;
}

Reading Phase::Read() const {
  // The slow one first: the rest is of one moment.
  Reading reading;
  reading.server_cpu_seconds = ServerCpu();
  reading.totals = environment_.status.Read();
  reading.client_cpu_seconds = ProcessCpuSeconds();
  reading.at = Clock::now();
  return reading;
}

void Phase::Measure(const Reading& from, PhaseResult* result) {
  if (options_.count) {
    Watch(std::nullopt, /*until_done=*/true);
  } else if (options_.duration.count() > 0) {
    Watch(from.at + options_.duration, /*until_done=*/false);
  } else {
    Watch(std::nullopt, /*until_done=*/false);
  }
  const auto to = Clock::now();
  result->measured = to - from.at;
  if (options_.open_loop) {
    const auto planned_until = [&](Clock::time_point at) {
      return options_.open_loop->profile.CountAt(
          std::chrono::duration<double>(at - start_ - options_.warmup).count());
    };
    result->planned_operations = planned_until(to) - planned_until(from.at);
  }
  result->totals = environment_.status.Read();
  result->totals.Subtract(from.totals);
  result->client_cpu_seconds = ProcessCpuSeconds() - from.client_cpu_seconds;
  const std::optional<double> server = ServerCpu();
  if (server && from.server_cpu_seconds) {
    result->server_cpu_seconds = *server - *from.server_cpu_seconds;
  }
}

std::optional<double> Phase::ServerCpu() const {
  if (!environment_.server_metrics) return std::nullopt;
  const auto seconds = FetchServerCpuSeconds(*environment_.server_metrics);
  if (!seconds) return std::nullopt;
  return *seconds;
}

void Phase::Watch(std::optional<Clock::time_point> end, bool until_done) {
  constexpr std::chrono::milliseconds kLook{5};
  while (true) {
    const auto now = Clock::now();
    if (until_done && running_.load() == 0) return;
    if (!until_done && state_.stop()) return;
    if (Interrupted()) {
      // The load stops; who waits for its end goes on waiting.
      if (!until_done) return;
      state_.Stop();
    }
    if (end && now >= *end) return;
    if (now - last_tick_ >= kTick) {
      Totals totals = environment_.status.Read();
      uint64_t answers = totals.messages_received;
      for (const auto& codes : totals.handled) {
        for (const uint64_t count : codes) answers += count;
      }
      if (answers != last_answers_) {
        last_answers_ = answers;
        last_progress_ = now;
      } else if (now - last_progress_ >= kSilence && !state_.abandoned()) {
        state_.Fail(Error::Transport(
            grpc::StatusCode::DEADLINE_EXCEEDED,
            fmt::format("no answer for {} s", kSilence.count())));
        state_.Abandon();
      }
      Totals delta = totals;
      delta.Subtract(last_totals_);
      timeline_.push_back(TimelinePoint::Of(
          delta, environment_.status.description().stage,
          std::chrono::duration<double>(now - start_).count(),
          std::chrono::duration<double>(now - last_tick_).count()));
      if (environment_.tick) {
        environment_.tick(std::chrono::duration<double>(now - start_).count(),
                          delta);
      }
      last_totals_ = std::move(totals);
      last_tick_ = now;
    }
    auto next = std::min(last_tick_ + kTick, end.value_or(now + kTick));
    if (until_done) next = std::min(next, now + kLook);
    // Wakes for the stop flag too, which has no condition to wait on.
    next = std::min(next, now + std::chrono::milliseconds(50));
    std::this_thread::sleep_until(next);
  }
}

void Phase::CloseConnections(PhaseResult* result) {
  if (result->failure && IsUnreachable(*result->failure)) {
    // Nobody is there to be told, and telling would only take its time.
    for (const auto& connection : connections_) connection->Abandon();
    if (directory_) directory_->Abandon();
  }
  const auto note = [result](const auto& outcome) {
    if (!outcome && !result->failure) result->failure = outcome.error();
  };
  for (const auto& connection : connections_) {
    const size_t held = connection->held_files();
    const auto closed = connection->Close();
    note(closed);
    // A load that broke off leaves what it could not close.
    if (closed && !result->failure && *closed > held) {
      result->leaked_handles += *closed - held;
    }
  }
  connections_.clear();
  if (directory_) note(directory_->Remove());
}

}  // namespace

std::string PhaseOptions::Mode() const {
  return batched() ? fmt::format("{} {}", columns ? "columns" : "batch", batch)
                   : "unary";
}

std::string PhaseOptions::Loop() const {
  if (!open_loop) return "closed";
  return fmt::format(
      "open, {} {}/s",
      open_loop->arrivals == Arrivals::kConstant ? "constant" : "poisson",
      open_loop->profile.text());
}

bool IsUnreachable(const Error& error) {
  // DRAINING is a reason of the service's, with the code UNAVAILABLE.
  return error.kind() != Error::Kind::kErrno &&
         (error.code() == grpc::StatusCode::UNAVAILABLE ||
          error.code() == grpc::StatusCode::DEADLINE_EXCEEDED ||
          error.code() == grpc::StatusCode::CANCELLED);
}

std::expected<PhaseResult, PhaseFailure> RunPhase(
    const PhaseEnvironment& environment, const PhaseOptions& options) {
  Phase phase(environment, options);
  if (auto ready = phase.Prepare(); !ready) {
    return std::unexpected(ready.error());
  }
  return phase.Run();
}

}  // namespace vfsload
