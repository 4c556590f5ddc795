// Whose limit a measured number is: the client's own, the server's, the
// machine's that both run on, or that of the load as it was asked for.
//
// Judged from CPU time, schedule lag and rates of a phase. A pure function.
#ifndef CLIENT_LOAD_BOTTLENECK_H_
#define CLIENT_LOAD_BOTTLENECK_H_

#include <string>
#include <string_view>

#include "client/load/phase.h"

namespace vfsload {

enum class Limit {
  kUnknown,   // too little was measured
  kNone,      // an open loop that held its rate
  kClient,    // this client's threads are busy
  kMachine,   // client and server together use all CPUs of one machine
  kServer,    // the server's CPU is busy
  kInFlight,  // neither is busy: more in flight would bring more
};

struct Bottleneck {
  Limit limit = Limit::kUnknown;
  // One sentence for people, with the figures.
  std::string text;
};

// "client", "server", ...: for programs.
std::string_view LimitName(Limit limit);

Bottleneck FindBottleneck(const PhaseResult& result);

}  // namespace vfsload

#endif  // CLIENT_LOAD_BOTTLENECK_H_
