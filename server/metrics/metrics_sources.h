// MetricsSources: where the metrics come from. All of it is counted elsewhere,
// per thread, and only summed when somebody asks.
#pragma once

#include <map>
#include <string>

#include "server/base/call_statistics.h"
#include "server/vfs/operation_counters.h"
#include "server/vfs/session_table.h"
#include "server/vfs/vfs.h"

namespace vfsd::metrics {

struct MetricsSources {
  vfs::Vfs& vfs;
  const vfs::OperationCounters& operations;
  const vfs::SessionTable& sessions;
  const CallStatistics& calls;
  // Labels of vfsd_build_info and vfsd_config_info.
  std::map<std::string, std::string> build;
  std::map<std::string, std::string> config;
};

}  // namespace vfsd::metrics
