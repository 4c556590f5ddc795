// vfsctl stat PATH...: a file's attributes, like stat(1).
#ifndef CLIENT_CTL_STAT_COMMAND_H_
#define CLIENT_CTL_STAT_COMMAND_H_

#include <string>
#include <vector>

#include "client/ctl/command.h"

namespace vfsctl {

struct StatOptions {
  std::vector<std::string> paths;
  // Follow a symbolic link at the end of the path; stat(1) does not.
  bool dereference = false;
  // One JSON object a file, one a line.
  bool json = false;
};

// Goes on after an error; the status is that of the first one.
ExitStatus RunStat(const GlobalOptions& global, const StatOptions& options);

}  // namespace vfsctl

#endif  // CLIENT_CTL_STAT_COMMAND_H_
