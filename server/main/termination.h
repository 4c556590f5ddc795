// Termination: SIGTERM and SIGINT as something to wait for.
//
// Block them in main before any thread starts, so that no library's thread gets
// one.
#pragma once

namespace vfsd {

class Termination {
 public:
  // Blocks the signals in this thread and those that it starts. Also ignores
  // SIGPIPE: a client that goes away is no reason to end.
  Termination();

  // Returns when the first signal comes. From then on a second one ends the
  // process at once.
  void Wait();
};

}  // namespace vfsd
