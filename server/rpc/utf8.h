// Whether bytes are UTF-8 (RFC 3629), as proto3 demands of its strings.
#pragma once

#include <string_view>

namespace vfsd::rpc {

bool IsUtf8(std::string_view bytes);

}  // namespace vfsd::rpc
