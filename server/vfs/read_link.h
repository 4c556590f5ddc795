// readlinkat(2).
#pragma once

#include <string>

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

struct Caller;
class Vfs;

Result<std::string> ReadLink(Vfs& vfs, const Caller& caller,
                             const ReadLinkOperation& operation);

}  // namespace vfsd::vfs
