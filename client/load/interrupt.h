// Ctrl-C and SIGTERM: the first one ends the load and lets it report, another
// one, half a second or more later, ends the process at once.
//
// Process-wide, since signals are. Install once, before threads start.
#ifndef CLIENT_LOAD_INTERRUPT_H_
#define CLIENT_LOAD_INTERRUPT_H_

#include <chrono>

namespace vfsload {

void InstallInterrupt();
bool Interrupted();

// Sleeps until then, or until interrupted.
void SleepUntil(std::chrono::steady_clock::time_point when);

}  // namespace vfsload

#endif  // CLIENT_LOAD_INTERRUPT_H_
