// What this build is: for --version, replies and metrics.
#pragma once

#include <string_view>

namespace vfsd::build_info {

// "0.1.0"
std::string_view Version();
// The source's revision, abbreviated; "unknown" outside a repository.
std::string_view Revision();
// "gcc 12.2.0"
std::string_view Compiler();

}  // namespace vfsd::build_info
