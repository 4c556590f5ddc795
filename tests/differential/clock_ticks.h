// Which step of a program stamped a time. The kernel and the core take inode
// times from the same coarse clock, which stands still for milliseconds; where
// every step runs in a tick of its own, a time names its step.
#pragma once

#include <string>
#include <vector>

#include "server/base/timestamp.h"

namespace vfsd::differential {

class ClockTicks {
 public:
  // Begins a program.
  void Reset() { begins_.clear(); }
  // Waits for the next tick, in which the next step is to run.
  void Next();
  // Begins the next step without a wait.
  void Mark();
  // "before", "step 3", or for what lies in the future the time itself.
  std::string StampOf(Timestamp time) const;

 private:
  std::vector<Timestamp> begins_;
};

}  // namespace vfsd::differential
