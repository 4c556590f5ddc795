#include "server/metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "server/metrics/metric_families.h"

namespace vfsd::metrics {
namespace {

// What of /proc/self/stat is told (proc_pid_stat(5)).
struct ProcessStatus {
  double cpu_ticks = 0;
  double threads = 0;
  double start_ticks = 0;  // after boot
  double virtual_bytes = 0;
  double resident_pages = 0;
};

ProcessStatus ReadStatus() {
  ProcessStatus status;
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  // The name, in parentheses, may hold anything; fields count from behind it.
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return status;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; fields >> field; ++number) {
    const double value = std::strtod(field.c_str(), nullptr);
    switch (number) {
      case 14:  // utime
      case 15:  // stime
        status.cpu_ticks += value;
        break;
      case 20:
        status.threads = value;
        break;
      case 22:
        status.start_ticks = value;
        break;
      case 23:
        status.virtual_bytes = value;
        break;
      case 24:
        status.resident_pages = value;
        break;
      default:
        break;
    }
  }
  return status;
}

// btime: when the machine was booted, in seconds since the epoch.
double BootTime() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime "))
      return std::strtod(line.c_str() + 6, nullptr);
  }
  return 0;
}

double CountOpenFds() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir("/proc/self/fd"),
                                                      &closedir);
  if (directory == nullptr) return 0;
  // ".", ".." and the directory itself.
  double count = -3;
  while (readdir(directory.get()) != nullptr) ++count;
  return count;
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectProcessMetrics() {
  static const auto kTicksPerSecond = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const auto kPageBytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  static const double kBootTime = BootTime();
  const ProcessStatus status = ReadStatus();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);

  std::vector<prometheus::MetricFamily> families;
  families.push_back(Counter("process_cpu_seconds_total",
                             "Total user and system CPU time spent in seconds.")
                         .Add({}, status.cpu_ticks / kTicksPerSecond)
                         .Take());
  families.push_back(
      Gauge("process_resident_memory_bytes", "Resident memory size in bytes.")
          .Add({}, status.resident_pages * kPageBytes)
          .Take());
  families.push_back(
      Gauge("process_virtual_memory_bytes", "Virtual memory size in bytes.")
          .Add({}, status.virtual_bytes)
          .Take());
  families.push_back(
      Gauge("process_open_fds", "Number of open file descriptors.")
          .Add({}, CountOpenFds())
          .Take());
  families.push_back(
      Gauge("process_max_fds", "Maximum number of open file descriptors.")
          .Add({}, static_cast<double>(files.rlim_cur))
          .Take());
  families.push_back(
      Gauge("process_start_time_seconds",
            "Start time of the process since unix epoch in seconds.")
          .Add({}, kBootTime + status.start_ticks / kTicksPerSecond)
          .Take());
  families.push_back(
      Gauge("process_threads", "Number of OS threads in the process.")
          .Add({}, status.threads)
          .Take());
  return families;
}

}  // namespace vfsd::metrics
