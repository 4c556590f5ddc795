// The setting of a benchmark's process.
#pragma once

namespace wirebench {

// As vfsd and vfsload do: see TuneAllocator in server/main/main.cc.
void TuneAllocator();

// This process and the servers that it starts: on two processors, whatever the
// machine has.
void TakeTwoProcessors();

}  // namespace wirebench
