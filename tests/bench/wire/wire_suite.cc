#include "tests/bench/wire/wire_suite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/lib/batch_stream.h"
#include "tests/bench/core/ratio.h"
#include "tests/bench/core/series.h"
#include "tests/bench/wire/batch_load.h"
#include "tests/bench/wire/process.h"
#include "tests/bench/wire/scenario.h"
#include "tests/bench/wire/slice.h"
#include "tests/bench/wire/table.h"
#include "tests/bench/wire/unary_load.h"
#include "tests/bench/wire/world.h"
#include "vfs/v1/admin.grpc.pb.h"

namespace wirebench {
namespace {

using corebench::Goal;
using corebench::Interval;
using corebench::RatioReport;
using corebench::Series;
using Stub = ::vfs::v1::VfsService::Stub;

constexpr size_t kWindow = 6;
// Of a slice: handles that it opens are closed after it.
constexpr uint64_t kMostOpens = 20'000;

// Repeats `once` on so many threads until the time is over.
uint64_t OnThreads(const std::vector<std::function<uint64_t()>>& loops,
                   std::chrono::nanoseconds duration) {
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> operations = 0;
  std::vector<std::jthread> threads;
  for (const auto& loop : loops) {
    threads.emplace_back([&] {
      uint64_t own = 0;
      while (!stop.load(std::memory_order_relaxed)) own += loop();
      operations += own;
    });
  }
  std::this_thread::sleep_for(duration);
  stop = true;
  threads.clear();
  return operations;
}

class Suite {
 public:
  Suite(const WirePlan& plan, const std::string& bin)
      : plan_(plan),
        world_(bin),
        scenarios_(MakeScenarios(world_.files, *world_.session, world_.core)) {}

  int Run() {
    fmt::print(
        "{} files; {} operations of each kind a message, {} messages in "
        "flight; single calls: 64 in flight on {} connections; the kernel: "
        "{}\n",
        kFiles, kFiles, kWindow, kConnections, world_.kernel.place());
    const auto wants = [&](const char* part) {
      return plan_.part.empty() || plan_.part == part;
    };
    // Batches compare themselves with single calls.
    if (wants("unary") || wants("batch")) Unary();
    if (wants("latency")) Latency();
    if (wants("batch")) Batches();
    if (wants("fastpaths")) FastPaths();
    return report_.short_lines();
  }

 private:
  // ---- single calls
  struct UnaryTarget {
    std::string name;
    std::string echo_address;
    std::string address;
  };

  uint64_t StatusSession() {
    ::vfs::v1::OpenSessionRequest request;
    request.mutable_credentials()->set_uid(0);
    ::vfs::v1::OpenSessionResponse response;
    grpc::ClientContext context;
    const auto stub = ::vfs::v1::VfsService::NewStub(world_.channel);
    if (!stub->OpenSession(&context, request, &response).ok())
      Die("no session");
    return response.session();
  }

  template <typename Request>
  std::vector<grpc::ByteBuffer> Requests(const std::vector<std::string>& paths,
                                         uint64_t session, Request request) {
    std::vector<grpc::ByteBuffer> requests;
    request.set_session(session);
    for (const std::string& path : paths) {
      request.set_path("/" + path);
      requests.push_back(ToByteBuffer(request.SerializeAsString()));
    }
    return requests;
  }

  UnaryLoad::Plan EchoPlan(const std::string& address) {
    return {.channels = ConnectSome(address),
            .method = "/vfsbench.Echo/Echo",
            .requests = Requests(world_.files.there, world_.session->id(),
                                 ::vfs::v1::StatRequest()),
            .reply = {}};
  }
  UnaryLoad::Plan StatPlan(const std::string& address) {
    ::vfs::v1::StatRequest stat;
    stat.set_mask(0x7ff);
    return {
        .channels = ConnectSome(address),
        .method = "/vfs.v1.VfsService/Stat",
        .requests = Requests(world_.files.there, world_.session->id(), stat),
        .reply = {}};
  }
  UnaryLoad::Plan OpenPlan(const std::string& address) {
    return {.channels = ConnectSome(address),
            .method = "/vfs.v1.VfsService/Open",
            .requests = Requests(world_.files.there, world_.session->id(),
                                 ::vfs::v1::OpenRequest()),
            .reply = [this](grpc::ByteBuffer& reply) { KeepHandle(reply); }};
  }

  void KeepHandle(const grpc::ByteBuffer& reply) {
    grpc::Slice slice;
    // OpenResponse.handle = 2, fixed64.
    if (!reply.DumpToSingleSlice(&slice).ok() || slice.size() != 9 ||
        slice.begin()[0] != 0x11) {
      Die("an Open's answer is none");
    }
    uint64_t handle;
    std::memcpy(&handle, slice.begin() + 1, sizeof(handle));
    opened_.push_back(vfsclient::Handle{handle});
  }
  void CloseOpened() {
    const auto stream = world_.session->OpenBatchStream();
    for (size_t i = 0; i < opened_.size(); i += 5000) {
      vfsclient::Batch batch;
      batch.CloseAll(std::span<const vfsclient::Handle>(opened_).subspan(
          i, std::min<size_t>(5000, opened_.size() - i)));
      const auto response = stream->Run(&batch);
      if (!response.has_value() ||
          response->groups(0).errno_codes_size() != 0) {
        Die("handles could not be closed");
      }
    }
    opened_.clear();
  }

  Contender& AddUnary(Table& table, const std::string& name,
                      const Process& server, UnaryLoad::Plan plan) {
    loads_.push_back(std::make_unique<UnaryLoad>(std::move(plan)));
    UnaryLoad* load = loads_.back().get();
    Contender& contender = table.Add(name, [this, load, &server] {
      return Measure(&server,
                     [&] { return load->Run(plan_.slice, kMostOpens); });
    });
    contender.after = [this] {
      if (!opened_.empty()) CloseOpened();
    };
    return contender;
  }

  void Unary() {
    fmt::print("\n-- single calls\n");
    Table table(plan_.rounds);
    const uint64_t in_band = world_.session->id();
    const uint64_t by_status = StatusSession();
    Contender& echo =
        AddUnary(table, "echo tcp", *world_.echo, EchoPlan(world_.echo_tcp));
    Contender& echo_unix =
        AddUnary(table, "echo unix", *world_.echo, EchoPlan(world_.echo_unix));
    Contender& stat =
        AddUnary(table, "Stat tcp", *world_.vfsd, StatPlan(world_.vfsd_tcp));
    Contender& stat_unix =
        AddUnary(table, "Stat unix", *world_.vfsd, StatPlan(world_.vfsd_unix));
    Contender& open =
        AddUnary(table, "Open tcp", *world_.vfsd, OpenPlan(world_.vfsd_tcp));
    ::vfs::v1::AccessRequest access_request;
    access_request.set_mode(R_OK);
    Contender& access = AddUnary(
        table, "Access tcp", *world_.vfsd,
        {.channels = ConnectSome(world_.vfsd_tcp),
         .method = "/vfs.v1.VfsService/Access",
         .requests = Requests(world_.files.there, in_band, access_request),
         .reply = {}});
    Contender& failed =
        AddUnary(table, "failed Open, in band", *world_.vfsd,
                 {.channels = ConnectSome(world_.vfsd_tcp),
                  .method = "/vfs.v1.VfsService/Open",
                  .requests = Requests(world_.files.missing, in_band,
                                       ::vfs::v1::OpenRequest()),
                  .reply = {}});
    Contender& failed_status =
        AddUnary(table, "failed Open, status", *world_.vfsd,
                 {.channels = ConnectSome(world_.vfsd_tcp),
                  .method = "/vfs.v1.VfsService/Open",
                  .requests = Requests(world_.files.missing, by_status,
                                       ::vfs::v1::OpenRequest()),
                  .code = grpc::StatusCode::NOT_FOUND,
                  .reply = {}});
    table.Run();
    const auto against = [&](const char* name, const Contender& ceiling,
                             const Contender& call, double goal,
                             const char* note) {
      report_.Add(name, Quotient(ceiling.cost, call.cost).Summary(),
                  Goal::kAtLeast, goal, note);
    };
    constexpr const char* kNote =
        "calls for the same CPU time, client and server";
    against("wire.unary.open.vs_echo", echo, open, 0.93, kNote);
    against("wire.unary.stat.vs_echo", echo, stat, 0.93, kNote);
    against("wire.unary.stat_unix.vs_echo", echo_unix, stat_unix, 0.93, kNote);
    against("wire.unary.access.vs_echo", echo, access, 0.93, kNote);
    against("wire.unary.failed_open_in_band.vs_open", open, failed, 0.97,
            kNote);
    against("wire.unary.failed_open_status.vs_open", open, failed_status, 0.70,
            kNote);
    unary_server_cost_ = stat.server;
    loads_.clear();
  }

  // ---- one call in flight
  static double Percentile50(std::vector<double> values) {
    std::ranges::nth_element(values, values.begin() + values.size() / 2);
    return values[values.size() / 2];
  }

  void Latency() {
    fmt::print("\n-- one call in flight\n");
    const auto one = [&](UnaryLoad::Plan plan) {
      plan.channels.resize(1);
      plan.in_flight = 1;
      return std::make_unique<UnaryLoad>(std::move(plan));
    };
    const auto echo = one(EchoPlan(world_.echo_tcp));
    const auto stat = one(StatPlan(world_.vfsd_tcp));
    constexpr uint64_t kCalls = 500;
    Series echo_p50;
    Series stat_p50;
    for (int round = -1; round < plan_.rounds; ++round) {
      for (int turn = 0; turn < 2; ++turn) {
        const bool is_echo = (round + turn) % 2 == 0;
        std::vector<double> latencies;
        (is_echo ? echo : stat)->RunOneByOne(kCalls, latencies);
        if (round >= 0)
          (is_echo ? echo_p50 : stat_p50).Add(Percentile50(latencies));
      }
    }
    fmt::print("p50: echo {:.1f} us, Stat {:.1f} us\n",
               echo_p50.Summary().median / 1e3,
               stat_p50.Summary().median / 1e3);
    report_.Add("wire.latency.p50.vs_echo",
                Quotient(stat_p50, echo_p50).Summary(), Goal::kAtMost, 1.10,
                "medians of 500 calls");

    Series echo_first;
    Series stat_first;
    for (int round = 0; round < plan_.idle_rounds; ++round) {
      std::this_thread::sleep_for(plan_.idle);
      for (int turn = 0; turn < 2; ++turn) {
        const bool is_echo = (round + turn) % 2 == 0;
        std::vector<double> latencies;
        (is_echo ? echo : stat)->RunOneByOne(1, latencies);
        (is_echo ? echo_first : stat_first).Add(latencies.front());
      }
    }
    fmt::print("first after {} s: echo {:.0f} us, Stat {:.0f} us\n",
               plan_.idle.count() / 1000, echo_first.Summary().median / 1e3,
               stat_first.Summary().median / 1e3);
    Interval first = Quotient(stat_first, echo_first).Summary();
    // Whoever is called second finds the machine awake: compare the medians.
    first.median = stat_first.Summary().median / echo_first.Summary().median;
    report_.Add("wire.latency.first_after_idle.vs_echo", first, Goal::kAtMost,
                1.2, "median of first calls");
  }

  // ---- batches
  struct Forms {
    WireScenario scenario;
    Contender* rows;
    Contender* columns;
    Contender* columns_unix;
    Contender* core;
    Contender* kernel_one;
    Contender* kernel_two;
  };

  Contender& AddBatch(Table& table, const std::string& name,
                      const std::shared_ptr<grpc::Channel>& channel,
                      uint64_t session, const BatchMessage& message) {
    batches_.push_back(
        std::make_unique<BatchLoad>(channel, session, message, kWindow));
    BatchLoad* load = batches_.back().get();
    return table.Add(name, [this, load] {
      return Measure(world_.vfsd.get(), [&] { return load->Run(plan_.slice); });
    });
  }

  void Batches() {
    fmt::print("\n-- batches\n");
    const auto unix_channel = Connect(world_.vfsd_unix);
    const uint64_t session = world_.session->id();
    Table table(plan_.rounds);
    std::vector<Forms> all;
    for (const WireScenario& scenario : scenarios_) {
      Forms forms{
          .scenario = scenario,
          .rows = &AddBatch(table, scenario.name + " rows",
                            Connect(world_.vfsd_tcp), session, scenario.rows),
          .columns =
              &AddBatch(table, scenario.name + " columns",
                        Connect(world_.vfsd_tcp), session, scenario.columns),
          .columns_unix = &AddBatch(table, scenario.name + " columns unix",
                                    unix_channel, session, scenario.columns),
          .core = &AddCore(table, scenario),
          .kernel_one = &AddKernel(table, scenario, 1),
          .kernel_two = &AddKernel(table, scenario, 2)};
      all.push_back(std::move(forms));
    }
    Contender& entry = table.Add("getppid", [this] {
      return Measure(nullptr, [&] {
        return OnThreads({[] {
                           for (int i = 0; i < 1000; ++i) syscall(SYS_getppid);
                           return uint64_t{1000};
                         }},
                         plan_.slice);
      });
    });
    static_cast<void>(entry);
    table.Run();
    for (const Forms& forms : all) {
      const std::string& name = forms.scenario.name;
      const Contender& kernel = forms.kernel_two->rate.Summary().median >
                                        forms.kernel_one->rate.Summary().median
                                    ? *forms.kernel_two
                                    : *forms.kernel_one;
      if (forms.scenario.vs_kernel > 0) {
        report_.Add("wire.batch." + name + ".vs_kernel",
                    Quotient(forms.columns->rate, kernel.rate).Summary(),
                    Goal::kAtLeast, forms.scenario.vs_kernel,
                    "operations/s, columns over TCP against " + kernel.name);
      }
      if (forms.scenario.core_share > 0) {
        report_.Add(
            "wire.batch." + name + ".server_vs_core",
            Quotient(forms.columns->server, forms.core->client).Summary(),
            Goal::kAtMost, forms.scenario.core_share,
            "server CPU an operation against the core's own in process");
      }
      if (name == "statx-path") {
        report_.Add(
            "wire.batch.server_vs_unary",
            Quotient(forms.columns->server, unary_server_cost_).Summary(),
            Goal::kAtMost, 0.01,
            "server CPU a batched Stat against a unary Stat");
      }
    }
    batches_.clear();
  }

  Contender& AddCore(Table& table, const WireScenario& scenario) {
    return table.Add(scenario.name + " core", [this, run = scenario.core] {
      return Measure(nullptr, [&] {
        const auto end = std::chrono::steady_clock::now() + plan_.slice;
        uint64_t operations = 0;
        while (std::chrono::steady_clock::now() < end) operations += run();
        return operations;
      });
    });
  }
  Contender& AddKernel(Table& table, const WireScenario& scenario,
                       int threads) {
    std::vector<std::function<uint64_t()>> loops;
    for (int i = 0; i < threads; ++i) loops.push_back(scenario.make_kernel());
    return table.Add(
        fmt::format("{} kernel x{}", scenario.name, threads), [this, loops] {
          return Measure(nullptr,
                         [&] { return OnThreads(loops, plan_.slice); });
        });
  }

  // ---- each fast path on and off
  void SetFastPath(const std::string& name, bool enabled) {
    static const std::map<std::string, ::vfs::v1::FastPath> kNames = {
        {"release-empty", ::vfs::v1::FAST_PATH_RELEASE_EMPTY},
        {"open-consume", ::vfs::v1::FAST_PATH_OPEN_CONSUME},
        {"permanent", ::vfs::v1::FAST_PATH_PERMANENT},
        {"empty-path", ::vfs::v1::FAST_PATH_EMPTY_PATH}};
    const auto stub = ::vfs::v1::AdminService::NewStub(world_.channel);
    ::vfs::v1::SetFastPathsRequest request;
    auto* setting = request.add_settings();
    setting->set_fast_path(kNames.at(name));
    setting->set_enabled(enabled);
    ::vfs::v1::SetFastPathsResponse response;
    grpc::ClientContext context;
    if (!stub->SetFastPaths(&context, request, &response).ok())
      Die("fast paths cannot be set");
  }

  void FastPaths() {
    fmt::print("\n-- fast paths, seen at the wire\n");
    Table table(plan_.rounds);
    struct Pair {
      std::string fast_path;
      Contender* on;
      Contender* off;
    };
    std::vector<Pair> pairs;
    for (const WireScenario& scenario : scenarios_) {
      if (scenario.fast_path.empty()) continue;
      const std::string& path = scenario.fast_path;
      const uint64_t session = world_.session->id();
      Contender& on = AddBatch(table, path + " on", Connect(world_.vfsd_tcp),
                               session, scenario.columns);
      Contender& off = AddBatch(table, path + " off", Connect(world_.vfsd_tcp),
                                session, scenario.columns);
      off.before = [this, path] { SetFastPath(path, false); };
      off.after = [this, path] { SetFastPath(path, true); };
      pairs.push_back({path, &on, &off});
    }
    table.Run();
    for (const Pair& pair : pairs) {
      const Interval ratio =
          Quotient(pair.off->server, pair.on->server).Summary();
      report_.Add("wire.fastpath." + pair.fast_path + ".off_over_on_low",
                  {.median = ratio.low, .low = ratio.low, .high = ratio.high},
                  Goal::kAtLeast, 1,
                  fmt::format("server CPU off over on {:.3f}; its interval's "
                              "lower end must be above 1",
                              ratio.median));
    }
    batches_.clear();
  }

  const WirePlan plan_;
  World world_;
  const std::vector<WireScenario> scenarios_;
  RatioReport report_;
  std::vector<std::unique_ptr<UnaryLoad>> loads_;
  std::vector<std::unique_ptr<BatchLoad>> batches_;
  std::vector<vfsclient::Handle> opened_;
  Series unary_server_cost_;
};

}  // namespace

int RunWireSuite(const WirePlan& plan, const char* bin) {
  return Suite(plan, bin).Run();
}

}  // namespace wirebench
