// Which vfsload this is; the build system says.
#ifndef CLIENT_LOAD_VERSION_H_
#define CLIENT_LOAD_VERSION_H_

#include <string_view>

namespace vfsload {

extern const std::string_view kVersion;   // "0.1.0"
extern const std::string_view kRevision;  // a commit, or "unknown"

}  // namespace vfsload

#endif  // CLIENT_LOAD_VERSION_H_
