// OperationApi: the table that joins the core's operations to vfs.v1: a row an
// operation says which messages it is on the wire, and where it stands in a
// batch. Decoder, encoder, methods and batches are made from it.
#pragma once

#include "server/vfs/operation.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {

template <typename Operation>
struct OperationApi;

// kBatchOperation: its field in BatchOperation. kBatchResult: its response's
// field in BatchResult; 0: success says nothing more. kAnonymous: also served
// without a session.
#define VFSD_OPERATION_API(NAME, BATCH_OPERATION, BATCH_RESULT, ANONYMOUS) \
  template <>                                                              \
  struct OperationApi<vfs::NAME##Operation> {                              \
    using Request = ::vfs::v1::NAME##Request;                              \
    using Response = ::vfs::v1::NAME##Response;                            \
    static constexpr const char* kMethod = #NAME;                          \
    static constexpr int kBatchOperation =                                 \
        ::vfs::v1::BatchOperation::k##BATCH_OPERATION;                     \
    static constexpr int kBatchResult = BATCH_RESULT;                      \
    static constexpr bool kAnonymous = ANONYMOUS;                          \
  };
VFSD_OPERATION_API(Open, OpenFieldNumber,
                   ::vfs::v1::BatchResult::kOpenFieldNumber, false)
VFSD_OPERATION_API(Close, CloseFieldNumber, 0, false)
VFSD_OPERATION_API(Stat, StatFieldNumber,
                   ::vfs::v1::BatchResult::kStatFieldNumber, true)
VFSD_OPERATION_API(Access, AccessFieldNumber, 0, true)
VFSD_OPERATION_API(Read, ReadFieldNumber,
                   ::vfs::v1::BatchResult::kReadFieldNumber, false)
VFSD_OPERATION_API(ReadDirectory, ReadDirectoryFieldNumber,
                   ::vfs::v1::BatchResult::kReadDirectoryFieldNumber, true)
VFSD_OPERATION_API(MakeDirectory, MakeDirectoryFieldNumber, 0, false)
VFSD_OPERATION_API(Unlink, UnlinkFieldNumber, 0, false)
VFSD_OPERATION_API(Rename, RenameFieldNumber, 0, false)
VFSD_OPERATION_API(MakeNode, MakeNodeFieldNumber, 0, false)
VFSD_OPERATION_API(MakeSymlink, MakeSymlinkFieldNumber, 0, false)
VFSD_OPERATION_API(MakeLink, MakeLinkFieldNumber, 0, false)
VFSD_OPERATION_API(ReadLink, ReadLinkFieldNumber,
                   ::vfs::v1::BatchResult::kReadLinkFieldNumber, false)
VFSD_OPERATION_API(SetAttributes, SetAttributesFieldNumber, 0, false)
VFSD_OPERATION_API(StatFilesystem, StatFilesystemFieldNumber,
                   ::vfs::v1::BatchResult::kStatFilesystemFieldNumber, false)
#undef VFSD_OPERATION_API

// A list of operations to expand templates over.
template <typename... Operations>
struct OperationList {};
using AllOperations =
    OperationList<vfs::OpenOperation, vfs::CloseOperation, vfs::StatOperation,
                  vfs::AccessOperation, vfs::ReadOperation,
                  vfs::ReadDirectoryOperation, vfs::MakeDirectoryOperation,
                  vfs::UnlinkOperation, vfs::RenameOperation,
                  vfs::MakeNodeOperation, vfs::MakeSymlinkOperation,
                  vfs::MakeLinkOperation, vfs::ReadLinkOperation,
                  vfs::SetAttributesOperation, vfs::StatFilesystemOperation>;

}  // namespace vfsd::rpc
