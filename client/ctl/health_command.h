// vfsctl health: asks the standard health service. Exit status 0 if and only if
// the server is SERVING, so that it can be a container's health check.
#ifndef CLIENT_CTL_HEALTH_COMMAND_H_
#define CLIENT_CTL_HEALTH_COMMAND_H_

#include <string>

#include "client/ctl/command.h"

namespace vfsctl {

struct HealthOptions {
  // "" is the server as a whole.
  std::string service;
  // Says nothing on success.
  bool quiet = false;
};

ExitStatus RunHealth(const GlobalOptions& global, const HealthOptions& options);

}  // namespace vfsctl

#endif  // CLIENT_CTL_HEALTH_COMMAND_H_
