#include "client/load/version.h"

namespace vfsload {

const std::string_view kVersion = VFSD_VERSION;
const std::string_view kRevision = VFSD_REVISION;

}  // namespace vfsload
