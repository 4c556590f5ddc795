// Crew: workers that run loops for a slice of time, each pinned to a processor
// of its own: threads of this process, or processes (the kernel treats the file
// table of one process and of two differently).
//
// A process crew can only run loops that existed when it was made, and must be
// made before the first thread is. Used by the main thread alone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/bench/core/loop.h"

namespace corebench {

// What a slice did, over all workers.
struct SliceResult {
  uint64_t operations = 0;
  uint64_t wrong = 0;
  int64_t cpu_nanoseconds = 0;  // of the workers
};

class Crew {
 public:
  enum class Kind { kThreads, kProcesses };

  Crew(Kind kind, size_t workers);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // One loop a worker, for the first loops.size() workers.
  SliceResult Run(const std::vector<Loop*>& loops,
                  std::chrono::nanoseconds duration);

 private:
  struct Shared;

  // What a worker does until the crew ends.
  static void Serve(Shared& shared, size_t index);

  const size_t workers_;
  Shared* shared_;  // mapped: owned, unmapped at the end
  std::vector<std::thread> threads_;
  std::vector<pid_t> processes_;
};

// CPU time of the calling thread, and of the whole process, in nanoseconds.
int64_t ThreadCpuNanoseconds();
int64_t ProcessCpuNanoseconds();

// Pins the calling thread to one of the processors that it may use.
void PinToProcessor(size_t index);

}  // namespace corebench
