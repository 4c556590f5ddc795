// vfsctl info: who the server is, its limits, its fast paths, what it holds.
#ifndef CLIENT_CTL_INFO_COMMAND_H_
#define CLIENT_CTL_INFO_COMMAND_H_

#include "client/ctl/command.h"

namespace vfsctl {

struct InfoOptions {
  bool json = false;
};

ExitStatus RunInfo(const GlobalOptions& global, const InfoOptions& options);

}  // namespace vfsctl

#endif  // CLIENT_CTL_INFO_COMMAND_H_
