#include "server/rpc/cpu_allowance.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>

namespace vfsd::rpc {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// cpu.max: "QUOTA PERIOD" in microseconds, or "max PERIOD" (cgroups(7), v2).
double QuotaV2(const std::string& directory) {
  std::ifstream file(directory + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0)
    return kUnlimited;
  return std::strtod(quota.c_str(), nullptr) / period;
}

// cpu.cfs_quota_us is -1 without a limit (v1).
double QuotaV1(const std::string& directory) {
  double quota = -1;
  double period = 0;
  std::ifstream(directory + "/cpu.cfs_quota_us") >> quota;
  std::ifstream(directory + "/cpu.cfs_period_us") >> period;
  return quota > 0 && period > 0 ? quota / period : kUnlimited;
}

// The least of the quotas of a control group and of those that it is in.
double LeastQuota(const std::string& top, std::string path,
                  double (*quota_of)(const std::string&)) {
  double least = quota_of(top);
  while (path.size() > 1) {
    least = std::min(least, quota_of(top + path));
    path.resize(path.rfind('/'));
  }
  return least;
}

double ControlGroupQuota(const ControlGroupFiles& files) {
  // Lines are ID:CONTROLLERS:PATH; the v2 hierarchy has no controllers.
  std::ifstream file(files.membership);
  double least = kUnlimited;
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers =
        "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, LeastQuota(files.top, path, &QuotaV2));
    } else if (controllers.find(",cpu,") != std::string::npos) {
      least = std::min(least, LeastQuota(files.top + "/cpu", path, &QuotaV1));
    }
  }
  return least;
}

}  // namespace

int CpuAllowance(const ControlGroupFiles& files) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const int affinity =
      sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
  const double quota = std::ceil(ControlGroupQuota(files));
  return std::max(
      1, static_cast<int>(std::min(static_cast<double>(affinity), quota)));
}

}  // namespace vfsd::rpc
