#include "server/vfs/operation.h"

namespace vfsd::vfs {

std::string_view OperationKindName(OperationKind kind) {
  switch (kind) {
    case OperationKind::kOpen:
      return "open";
    case OperationKind::kClose:
      return "close";
    case OperationKind::kStat:
      return "stat";
    case OperationKind::kAccess:
      return "access";
    case OperationKind::kRead:
      return "read";
    case OperationKind::kReadDirectory:
      return "readdir";
    case OperationKind::kMakeDirectory:
      return "mkdir";
    case OperationKind::kUnlink:
      return "unlink";
    case OperationKind::kRename:
      return "rename";
    case OperationKind::kMakeNode:
      return "mknod";
    case OperationKind::kMakeSymlink:
      return "symlink";
    case OperationKind::kMakeLink:
      return "link";
    case OperationKind::kReadLink:
      return "readlink";
    case OperationKind::kSetAttributes:
      return "setattr";
    case OperationKind::kStatFilesystem:
      return "statfs";
  }
  return "unknown";
}

}  // namespace vfsd::vfs
