// Options: vfsd's command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "server/base/listen_address.h"
#include "server/main/instance.h"
#include "server/rpc/server.h"

namespace vfsd {

struct Options {
  InstanceOptions instance;
  rpc::ServerOptions server;
  std::optional<ListenAddress> metrics;  // none: off
  std::string ready_file;                // empty: none
  // Empty: none. Else what is at "/" is written there, and that is all.
  std::string write_snapshot;
  std::string log_level = "info";
  std::string log_format = "text";
  std::chrono::milliseconds drain_timeout{10'000};
  // As given, for vfsd_config_info.
  std::string fast_paths = "all";
  std::string credentials = "trust";
};

// Nothing: the program has to end now, with `exit_code`; what there was to say
// (--help, --version, or what is wrong) has been said.
std::optional<Options> ParseOptions(int argc, char** argv, int& exit_code);

}  // namespace vfsd
