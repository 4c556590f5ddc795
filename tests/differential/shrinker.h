// Makes a failing program as small as it gets while it fails (delta
// debugging): fewer steps, then simpler ones.
#pragma once

#include <functional>

#include "tests/differential/program.h"

namespace vfsd::differential {

// `fails` must hold for `program`, and does for what is returned.
Program Shrink(Program program,
               const std::function<bool(const Program&)>& fails);

}  // namespace vfsd::differential
