#include "server/vfs/live_objects.h"

namespace vfsd::vfs {

std::string_view ObjectKindName(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kRegularInode:
      return "regular_inode";
    case ObjectKind::kDirectoryInode:
      return "directory_inode";
    case ObjectKind::kSymlinkInode:
      return "symlink_inode";
    case ObjectKind::kSpecialInode:
      return "special_inode";
    case ObjectKind::kSyntheticInode:
      return "synthetic_inode";
    case ObjectKind::kDentry:
      return "dentry";
    case ObjectKind::kFile:
      return "file";
    case ObjectKind::kMount:
      return "mount";
    case ObjectKind::kSession:
      return "session";
  }
  return "unknown";
}

}  // namespace vfsd::vfs
