// The core's return type: a value or a Linux error number.
#pragma once

#include <expected>

#include "server/base/errno.h"

namespace vfsd {

template <typename T>
using Result = std::expected<T, Errno>;

// `return Fail(Errno::kENOENT);` from a function that returns Result<T>.
inline std::unexpected<Errno> Fail(Errno error) {
  return std::unexpected(error);
}

}  // namespace vfsd
