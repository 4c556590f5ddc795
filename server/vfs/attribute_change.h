// What changes a file's attributes: chmod(2), chown(2), truncate(2) and
// utimensat(2) in their forms by path and by handle, as one operation
// (the kernel's notify_change() with any set of attributes), and O_TRUNC.
#pragma once

#include "server/base/result.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

class Credentials;
class Inode;
struct Caller;
class Vfs;

Result<Done> SetAttributes(Vfs& vfs, const Caller& caller,
                           const SetAttributesOperation& operation);

// do_truncate() to nothing for O_TRUNC: times change also if it was empty, and
// set-id bits go unless the caller is privileged.
void TruncateToEmpty(const Credentials& credentials, Inode& inode);

}  // namespace vfsd::vfs
