// What this process uses, from getrusage(2) and /proc/self.
#ifndef CLIENT_LOAD_PROCESS_STATS_H_
#define CLIENT_LOAD_PROCESS_STATS_H_

#include <chrono>
#include <cstdint>

namespace vfsload {

struct ProcessStats {
  double cpu_seconds = 0;
  uint64_t resident_bytes = 0;
  uint64_t virtual_bytes = 0;
  uint64_t open_fds = 0;
  uint64_t max_fds = 0;
  uint64_t threads = 0;
  // Since 1970.
  double start_time_seconds = 0;

  // What cannot be read stays 0.
  static ProcessStats Read();
};

// User and system time of all threads so far, in seconds.
double ProcessCpuSeconds();

}  // namespace vfsload

#endif  // CLIENT_LOAD_PROCESS_STATS_H_
