// wire_bench: the wire suite of tests/bench/run.sh.
#include <malloc.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "tests/bench/wire/process.h"
#include "tests/bench/wire/wire_suite.h"

namespace {

// As vfsd and vfsload do: see TuneAllocator in server/main/main.cc.
void TuneAllocator() {
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
}

// This process and the servers that it starts: on two processors, whatever the
// machine has.
void TakeTwoProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  cpu_set_t two;
  CPU_ZERO(&two);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &two);
  }
  if (CPU_COUNT(&two) < 2) wirebench::Die("needs two processors");
  sched_setaffinity(0, sizeof(two), &two);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("What vfsd's wire costs; see tests/bench/run.sh --help");
  bool quick = false;
  app.add_flag("--quick", quick, "At most two minutes");
  wirebench::WirePlan plan;
  app.add_option("--rounds", plan.rounds, "Slices of each contender");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    plan.rounds = 20;
    plan.slice = std::chrono::milliseconds(50);
    plan.idle_rounds = 3;
  }
  TuneAllocator();
  TakeTwoProcessors();
  const std::string bin =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  wirebench::RunWireSuite(plan, bin.c_str());
  return 0;
}
