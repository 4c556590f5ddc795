// `vfsload replay`: a trace's questions to a server, and whether its answers
// are those that the trace's kernel gave.
#ifndef CLIENT_LOAD_REPLAY_COMMAND_H_
#define CLIENT_LOAD_REPLAY_COMMAND_H_

#include <cstddef>
#include <string>

#include "client/load/run.h"

namespace vfsload {

// As the command line has them.
struct ReplayCommandOptions {
  std::string target = "127.0.0.1:9150";
  std::string trace;
  size_t batch = 1;
  // "max", or how much faster than the trace ("1": as it was).
  std::string speed = "max";
  // Where to make the directory that the trace's namespace is in.
  std::string tree = "/";
  std::string json;
};

ExitStatus RunReplay(const ReplayCommandOptions& options);

}  // namespace vfsload

#endif  // CLIENT_LOAD_REPLAY_COMMAND_H_
