// wire_bench: the wire suite of tests/bench/run.sh.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "tests/bench/wire/setting.h"
#include "tests/bench/wire/wire_suite.h"

int main(int argc, char** argv) {
  CLI::App app("What vfsd's wire costs; see tests/bench/run.sh --help");
  bool quick = false;
  app.add_flag("--quick", quick, "At most two minutes");
  wirebench::WirePlan plan;
  app.add_option("--part", plan.part, "Only one part")
      ->check(CLI::IsMember({"unary", "latency", "batch", "fastpaths"}));
  app.add_option("--rounds", plan.rounds, "Slices of each contender");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    plan.rounds = 20;
    plan.slice = std::chrono::milliseconds(50);
    plan.idle_rounds = 3;
  }
  wirebench::TuneAllocator();
  wirebench::TakeTwoProcessors();
  const std::string bin =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  wirebench::RunWireSuite(plan, bin.c_str());
  return 0;
}
