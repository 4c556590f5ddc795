// Process: a server of a benchmark: started, asked for its CPU time, ended.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace wirebench {

class Process {
 public:
  // Its standard input is a pipe that ends with this object. The program ends
  // if it cannot be started.
  explicit Process(const std::vector<std::string>& command);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // The first line of its standard output.
  std::string ReadLine();
  // Of all its threads, so far.
  int64_t CpuNanoseconds() const;

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
};

[[noreturn]] void Die(const std::string& why);

}  // namespace wirebench
