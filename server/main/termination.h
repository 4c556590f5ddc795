// Termination: SIGTERM and SIGINT as something to wait for.
//
// Block them in main before any thread starts, so that no library's thread gets
// one. Until the program serves there is nothing to drain: a signal then ends
// it at once, however long an import still has to run.
#pragma once

#include <memory>

namespace vfsd {

class Termination {
 public:
  // Blocks the signals in this thread and those that it starts. Also ignores
  // SIGPIPE: a client that goes away is no reason to end. Until Serve, a signal
  // ends the process with status 128 + its number.
  Termination();

  // From here on a signal is kept for Wait.
  void Serve();

  // Returns when the first signal since Serve has come. From that signal on a
  // second one ends the process at once.
  void Wait();

 private:
  struct State;
  // Shared with the thread that takes the signals and lives as long as the
  // process.
  const std::shared_ptr<State> state_;
};

}  // namespace vfsd
