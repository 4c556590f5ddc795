// WireSuite: what the wire costs: single calls against the cheapest call that
// gRPC can make, batches against the local kernel and against the core in this
// process. All in one run, slice by slice in turn, client and servers on the
// same two processors.
#pragma once

#include <chrono>
#include <string>

namespace wirebench {

struct WirePlan {
  // Which part: "unary", "latency", "batch", "fastpaths"; "": all.
  std::string part;
  int rounds = 30;
  std::chrono::milliseconds slice{150};
  // First calls after idle times.
  int idle_rounds = 12;
  std::chrono::milliseconds idle{5000};
};

// bin: the folder with vfsd and wire_echo_server. Returns how many goals are
// short.
int RunWireSuite(const WirePlan& plan, const char* bin);

}  // namespace wirebench
