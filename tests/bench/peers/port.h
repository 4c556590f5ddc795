// TCP ports of this machine, for servers that a benchmark starts.
#pragma once

namespace wirebench {

// One that is free at this moment.
int FreePort();

// Waits until something listens there; the program ends if nothing does in 20
// s.
void WaitForPort(int port, const char* whose);

}  // namespace wirebench
