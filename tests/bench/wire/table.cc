#include "tests/bench/wire/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <random>

namespace wirebench {
namespace {

int64_t OwnCpu() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void Table::Run() {
  std::mt19937 random(1);  // NOLINT: no secret
  std::vector<Contender*> order;
  for (const auto& contender : contenders_) order.push_back(contender.get());
  for (int round = -1; round < rounds_; ++round) {
    std::ranges::shuffle(order, random);
    for (Contender* contender : order) {
      if (contender->before) contender->before();
      const Slice slice = contender->run();
      if (contender->after) contender->after();
      if (round < 0) continue;  // warms up
      contender->cost.Add(slice.Cost());
      contender->server.Add(slice.ServerCost());
      contender->client.Add(slice.ClientCost());
      contender->rate.Add(slice.Rate());
    }
  }
  fmt::print("{:<28} {:>12} {:>12} {:>12} {:>12}\n", "", "ops/s", "CPU ns/op",
             "server ns", "client ns");
  for (const auto& contender : contenders_) {
    fmt::print(
        "{:<28} {:>12.0f} {:>12.1f} {:>12.1f} {:>12.1f}\n", contender->name,
        contender->rate.Summary().median, contender->cost.Summary().median,
        contender->server.Summary().median, contender->client.Summary().median);
  }
  std::fflush(stdout);
}

Slice Measure(const Process* server, const std::function<uint64_t()>& work) {
  Slice slice;
  const auto begin = std::chrono::steady_clock::now();
  const int64_t server_begin = server != nullptr ? server->CpuNanoseconds() : 0;
  const int64_t client_begin = OwnCpu();
  slice.operations = work();
  slice.client = OwnCpu() - client_begin;
  slice.server =
      server != nullptr ? server->CpuNanoseconds() - server_begin : 0;
  slice.wall = (std::chrono::steady_clock::now() - begin).count();
  return slice;
}

}  // namespace wirebench
