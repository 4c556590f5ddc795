// peers_bench: the peers suite of tests/bench/run.sh.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "tests/bench/peers/peers_suite.h"
#include "tests/bench/wire/setting.h"

int main(int argc, char** argv) {
  CLI::App app("vfsd against its peers; see tests/bench/run.sh --help");
  bool quick = false;
  app.add_flag("--quick", quick, "At most two minutes");
  wirebench::PeersPlan plan;
  app.add_option("--rounds", plan.rounds, "Slices of each contender");
  CLI11_PARSE(app, argc, argv);
  if (quick) {
    plan.rounds = 20;
    plan.slice = std::chrono::milliseconds(50);
  }
  wirebench::TuneAllocator();
  wirebench::TakeTwoProcessors();
  const std::string bin =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  wirebench::RunPeersSuite(plan, bin);
  return 0;
}
