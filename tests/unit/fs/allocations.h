// Counts allocations by operator new, which allocations.cc replaces in the
// program that it is linked into.
#pragma once

#include <cstdint>

namespace vfsd::testing {

// By the calling thread so far.
int64_t Allocations();

}  // namespace vfsd::testing
