#include "server/base/build_info.h"

namespace vfsd::build_info {

std::string_view Version() { return VFSD_VERSION; }

std::string_view Revision() { return VFSD_REVISION; }

std::string_view Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

}  // namespace vfsd::build_info
