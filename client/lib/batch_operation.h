// The request inside a batched operation, whatever its kind: the one place on
// the client's side that lists the kinds.
#ifndef CLIENT_LIB_BATCH_OPERATION_H_
#define CLIENT_LIB_BATCH_OPERATION_H_

#include "vfs/v1/vfs.pb.h"

namespace vfsclient {

// Calls `use` with the request that `operation` holds (an OpenRequest*, a
// CloseRequest* …), which must be set; with an OpenRequest if none is.
template <class Use>
auto VisitRequest(vfs::v1::BatchOperation* operation, Use use) {
  using Kind = vfs::v1::BatchOperation;
  switch (operation->kind_case()) {
    case Kind::kOpen:
    case Kind::KIND_NOT_SET:
      return use(operation->mutable_open());
    case Kind::kClose:
      return use(operation->mutable_close());
    case Kind::kStat:
      return use(operation->mutable_stat());
    case Kind::kAccess:
      return use(operation->mutable_access());
    case Kind::kRead:
      return use(operation->mutable_read());
    case Kind::kReadDirectory:
      return use(operation->mutable_read_directory());
    case Kind::kMakeDirectory:
      return use(operation->mutable_make_directory());
    case Kind::kUnlink:
      return use(operation->mutable_unlink());
    case Kind::kRename:
      return use(operation->mutable_rename());
    case Kind::kMakeNode:
      return use(operation->mutable_make_node());
    case Kind::kMakeSymlink:
      return use(operation->mutable_make_symlink());
    case Kind::kMakeLink:
      return use(operation->mutable_make_link());
    case Kind::kReadLink:
      return use(operation->mutable_read_link());
    case Kind::kSetAttributes:
      return use(operation->mutable_set_attributes());
    case Kind::kStatFilesystem:
      return use(operation->mutable_stat_filesystem());
  }
  return use(operation->mutable_open());
}

}  // namespace vfsclient

#endif  // CLIENT_LIB_BATCH_OPERATION_H_
