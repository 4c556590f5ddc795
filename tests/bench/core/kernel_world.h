// KernelWorld: the local kernel: a tmpfs of its own, in a mount namespace of
// its own, as the process's current directory; and loops of real system calls
// in it.
//
// Made once, while the process has one thread. Where the namespace is not to
// be had, a directory in /dev/shm does.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/core/loop.h"
#include "tests/bench/core/scenario.h"

namespace corebench {

class KernelWorld {
 public:
  KernelWorld();
  ~KernelWorld();
  KernelWorld(const KernelWorld&) = delete;
  KernelWorld& operator=(const KernelWorld&) = delete;

  // What the kernel has in /proc/version.
  const std::string& version() const { return version_; }
  // "tmpfs in a mount namespace" or what there was instead.
  const std::string& place() const { return place_; }

  void MakeHotFiles();
  // Files 0 to `files` of TreeShape.
  void GrowTree(uint64_t files);

  Loop MakeLoop(Scenario scenario);
  Loop StatPaths(const std::vector<std::string>& paths);
  // getppid(2): what entering the kernel and leaving it costs.
  static Loop EmptySystemCall();

 private:
  std::string version_;
  std::string place_;
  std::string directory_;
  bool mounted_ = false;
};

}  // namespace corebench
