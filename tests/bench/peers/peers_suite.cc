#include "tests/bench/peers/peers_suite.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <vector>

#include "client/lib/batch_stream.h"
#include "tests/bench/core/ratio.h"
#include "tests/bench/peers/nfs_peer.h"
#include "tests/bench/peers/port.h"
#include "tests/bench/peers/redis_peer.h"
#include "tests/bench/wire/batch_load.h"
#include "tests/bench/wire/table.h"
#include "tests/bench/wire/unary_load.h"
#include "tests/bench/wire/world.h"

namespace wirebench {
namespace {

using corebench::Goal;

constexpr size_t kWindow = 6;
constexpr uint64_t kUnlimited = ~uint64_t{0};

// etcdserverpb by hand: a field of bytes, and one that is true.
std::string BytesField(int number, const std::string& bytes) {
  std::string field(1, static_cast<char>(number << 3 | 2));
  // Shorter than 128 bytes, or two bytes of length.
  if (bytes.size() >= 128) {
    field += static_cast<char>(bytes.size() | 0x80);
    field += static_cast<char>(bytes.size() >> 7);
  } else {
    field += static_cast<char>(bytes.size());
  }
  return field + bytes;
}
std::string TrueField(int number) {
  return {static_cast<char>(number << 3), '\x01'};
}

class Suite {
 public:
  Suite(const PeersPlan& plan, const std::string& bin)
      : plan_(plan),
        world_(bin),
        scenarios_(MakeScenarios(world_.files, *world_.session, world_.core)),
        table_(plan.rounds),
        redis_(world_.scratch, world_.files.there),
        nfs_(world_.scratch, world_.files.there, world_.files.missing) {}

  void Run() {
    Contender& stats = AddBatch("statx-path");
    Contender& open_close = AddBatch("openclose");
    Contender& failed_opens = AddBatch("openneg");
    Contender& unary_stat = AddUnaryStat();

    const auto redis = [&](const char* name, RedisPeer::Form form) {
      return &table_.Add(name, [this, form] {
        return Measure(&redis_.process(), [&] {
          return Until([&] { return redis_.Ask(form, 10); });
        });
      });
    };
    Contender& hgetall = *redis("Redis HGETALL", RedisPeer::Form::kHash);
    Contender& get = *redis("Redis GET", RedisPeer::Form::kPacked);
    Contender& range = AddEtcd();

    struct Question {
      const char* name;
      NfsQuestion question;
      Contender* many;
      std::function<uint64_t()> one;
      Contender* nfs_one = nullptr;
      Contender* nfs_many = nullptr;
      Contender* vfsd_one = nullptr;
    };
    const auto stream = world_.session->OpenBatchStream();
    Question questions[] = {
        {"openclose", NfsQuestion::kOpenClose, &open_close,
         [&] { return OpenAndClose(*stream); }},
        {"stat", NfsQuestion::kStat, &stats, [&] { return StatOne(*stream); }},
        {"failedopen", NfsQuestion::kFailedOpen, &failed_opens,
         [&] { return FailToOpen(*stream); }},
    };
    for (Question& question : questions) {
      question.vfsd_one = &table_.Add(
          fmt::format("vfsd {}, one by one", question.name), [this, &question] {
            return Measure(world_.vfsd.get(),
                           [&] { return Until(question.one); });
          });
      question.nfs_one = &table_.Add(
          fmt::format("NFS {}, one by one", question.name), [this, &question] {
            return Measure(&nfs_.process(), [&] {
              return nfs_.AskOneByOne(question.question, plan_.slice);
            });
          });
      question.nfs_many = &table_.Add(
          fmt::format("NFS {}, many", question.name), [this, &question] {
            return Measure(&nfs_.process(), [&] {
              return nfs_.AskMany(question.question, plan_.slice);
            });
          });
    }

    table_.Run();
    constexpr const char* kCpu =
        "operations for the same CPU time, client and server";
    Add("peers.redis_hgetall.batched_stat", hgetall.cost, stats.cost, 5, kCpu);
    Add("peers.redis_get.batched_stat", get.cost, stats.cost, 1.5, kCpu);
    Add("peers.etcd_range.unary_stat", range.cost, unary_stat.cost, 2.5, kCpu);
    for (const Question& question : questions) {
      Add(fmt::format("peers.nfs_{}.one_by_one", question.name),
          question.vfsd_one->rate, question.nfs_one->rate, 3, "operations/s");
      Add(fmt::format("peers.nfs_{}.many", question.name),
          question.nfs_many->cost, question.many->cost, 3, kCpu);
    }
  }

 private:
  // Goal: `over` is so many times `under`.
  void Add(const std::string& name, const corebench::Series& over,
           const corebench::Series& under, double goal, const char* note) {
    report_.Add(name, Quotient(over, under).Summary(), Goal::kAtLeast, goal,
                note);
  }

  uint64_t Until(const std::function<uint64_t()>& ask) const {
    const auto end = std::chrono::steady_clock::now() + plan_.slice;
    uint64_t operations = 0;
    while (std::chrono::steady_clock::now() < end) operations += ask();
    return operations;
  }

  Contender& AddBatch(const std::string& name) {
    const auto scenario =
        std::ranges::find(scenarios_, name, &WireScenario::name);
    batches_.push_back(std::make_unique<BatchLoad>(Connect(world_.vfsd_tcp),
                                                   world_.session->id(),
                                                   scenario->columns, kWindow));
    BatchLoad* load = batches_.back().get();
    return table_.Add("vfsd " + name + ", columns", [this, load] {
      return Measure(world_.vfsd.get(), [&] { return load->Run(plan_.slice); });
    });
  }

  Contender& AddUnary(const std::string& name, const Process& server,
                      UnaryLoad::Plan plan) {
    loads_.push_back(std::make_unique<UnaryLoad>(std::move(plan)));
    UnaryLoad* load = loads_.back().get();
    return table_.Add(name, [this, load, &server] {
      return Measure(&server,
                     [&] { return load->Run(plan_.slice, kUnlimited); });
    });
  }

  Contender& AddUnaryStat() {
    UnaryLoad::Plan plan{.channels = ConnectSome(world_.vfsd_tcp),
                         .method = "/vfs.v1.VfsService/Stat",
                         .requests = {},
                         .reply = {}};
    for (const std::string& path : world_.files.there) {
      vfs::v1::StatRequest request;
      request.set_session(world_.session->id());
      request.set_path("/" + path);
      request.set_mask(0x7ff);
      plan.requests.push_back(ToByteBuffer(request.SerializeAsString()));
    }
    return AddUnary("vfsd Stat, single calls", *world_.vfsd, std::move(plan));
  }

  // One member; reads that need no agreement (serializable), as its
  // documentation advises for latency.
  Contender& AddEtcd() {
    const int port = FreePort();
    const std::string client = fmt::format("127.0.0.1:{}", port);
    const std::string peer = fmt::format("http://127.0.0.1:{}", FreePort());
    etcd_ = std::make_unique<Process>(
        std::vector<std::string>{"etcd",
                                 "--name",
                                 "bench",
                                 "--data-dir",
                                 world_.scratch + "/etcd",
                                 "--listen-client-urls",
                                 "http://" + client,
                                 "--advertise-client-urls",
                                 "http://" + client,
                                 "--listen-peer-urls",
                                 peer,
                                 "--initial-advertise-peer-urls",
                                 peer,
                                 "--initial-cluster",
                                 "bench=" + peer,
                                 "--logger",
                                 "zap",
                                 "--log-level",
                                 "error",
                                 "--log-outputs",
                                 world_.scratch + "/etcd.log",
                                 "--unsafe-no-fsync"});
    WaitForPort(port, "etcd");
    UnaryLoad::Plan plan{.channels = ConnectSome(client),
                         .method = "/etcdserverpb.KV/Range",
                         .requests = {},
                         .reply = {}};
    UnaryLoad::Plan put = plan;
    put.method = "/etcdserverpb.KV/Put";
    const std::string packed(96, '\x7f');
    for (const std::string& path : world_.files.there) {
      put.requests.push_back(
          ToByteBuffer(BytesField(1, path) + BytesField(2, packed)));
      plan.requests.push_back(ToByteBuffer(BytesField(1, path) + TrueField(7)));
    }
    plan.reply = [](grpc::ByteBuffer& reply) {
      if (reply.Length() < 96) Die("etcd: a wrong answer");
    };
    UnaryLoad(std::move(put))
        .Run(std::chrono::seconds(60), world_.files.there.size());
    return AddUnary("etcd Range, single calls", *etcd_, std::move(plan));
  }

  const std::string& Next(const std::vector<std::string>& paths) {
    if (++next_ >= paths.size()) next_ = 0;
    path_ = "/" + paths[next_];
    return path_;
  }
  // One question a message, on a stream that stays open: the quickest way to
  // ask one by one.
  static ::vfs::v1::BatchResult Ask(vfsclient::BatchStream& stream,
                                    vfsclient::Batch& batch) {
    const auto response = stream.Run(&batch);
    if (!response.has_value() || response->results_size() == 0)
      Die("vfsd: no answer");
    return response->results(response->results_size() - 1);
  }
  uint64_t OpenAndClose(vfsclient::BatchStream& stream) {
    vfsclient::Batch batch;
    batch.Close(batch.Open(Next(world_.files.there), O_RDONLY));
    if (Ask(stream, batch).errno_code() != 0) Die("vfsd: a wrong answer");
    return 2;
  }
  uint64_t StatOne(vfsclient::BatchStream& stream) {
    vfsclient::Batch batch;
    batch.Stat(Next(world_.files.there));
    if (Ask(stream, batch).stat().ino() == 0) Die("vfsd: a wrong answer");
    return 1;
  }
  uint64_t FailToOpen(vfsclient::BatchStream& stream) {
    vfsclient::Batch batch;
    batch.Open(Next(world_.files.missing), O_RDONLY);
    if (Ask(stream, batch).errno_code() != ENOENT) Die("vfsd: a wrong answer");
    return 1;
  }

  const PeersPlan plan_;
  World world_;
  const std::vector<WireScenario> scenarios_;
  Table table_;
  RedisPeer redis_;
  NfsPeer nfs_;
  std::unique_ptr<Process> etcd_;
  corebench::RatioReport report_;
  std::vector<std::unique_ptr<UnaryLoad>> loads_;
  std::vector<std::unique_ptr<BatchLoad>> batches_;
  size_t next_ = 0;
  std::string path_;
};

}  // namespace

void RunPeersSuite(const PeersPlan& plan, const std::string& bin) {
  Suite(plan, bin).Run();
}

}  // namespace wirebench
