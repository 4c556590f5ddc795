#include "client/ctl/health_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "client/lib/channel.h"
#include "client/lib/health.h"

namespace vfsctl {

ExitStatus RunHealth(const GlobalOptions& global,
                     const HealthOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + global.timeout;
  const auto address = vfsclient::Address::Parse(global.target);
  if (!address) {
    fmt::print(stderr, "vfsctl: health: {}\n", address.error());
    return ExitStatus::kUsage;
  }
  const auto channel = vfsclient::Connect(*address, global.timeout);
  if (!channel) return Complain("health", "", channel.error());
  const auto left =
      std::max(std::chrono::duration_cast<std::chrono::milliseconds>(
                   deadline - Clock::now()),
               std::chrono::milliseconds(1));
  const auto status = vfsclient::CheckHealth(*channel, options.service, left);
  if (!status) return Complain("health", options.service, status.error());
  if (*status != vfsclient::ServingStatus::kServing) {
    fmt::print(stderr, "vfsctl: health: {} is {}\n", global.target,
               vfsclient::ServingStatusName(*status));
    return ExitStatus::kError;
  }
  if (!options.quiet) {
    fmt::print("{}\n", vfsclient::ServingStatusName(*status));
  }
  return ExitStatus::kOk;
}

}  // namespace vfsctl
