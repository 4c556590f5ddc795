#include "client/load/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace vfsload {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_usec) / 1e6;
}

// The time the machine was booted, since 1970 (proc(5), /proc/stat).
double BootTime() {
  std::ifstream stat("/proc/stat");
  for (std::string line; std::getline(stat, line);) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return 0;
}

}  // namespace

double ProcessCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

ProcessStats ProcessStats::Read() {
  ProcessStats stats;
  stats.cpu_seconds = ProcessCpuSeconds();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.max_fds = limit.rlim_cur;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc/self/fd", error), end;
       !error && it != end; it.increment(error)) {
    ++stats.open_fds;
  }
  // proc(5): fields behind the command's name, which is in parentheses; 20 is
  // num_threads, 22 starttime in clock ticks, 23 vsize, 24 rss in pages.
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end != std::string::npos) {
    std::istringstream fields(line.substr(name_end + 1));
    std::string field;
    for (int number = 3; fields >> field; ++number) {
      if (number == 20) stats.threads = std::stoull(field);
      if (number == 22) {
        stats.start_time_seconds =
            BootTime() +
            std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
      }
      if (number == 23) stats.virtual_bytes = std::stoull(field);
      if (number == 24) {
        stats.resident_bytes =
            std::stoull(field) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
        break;
      }
    }
  }
  return stats;
}

}  // namespace vfsload
