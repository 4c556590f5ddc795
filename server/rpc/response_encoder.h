// Results of the core → the encoded responses of vfs.v1 (proto/vfs/v1/vfs.proto
// says what each field means). The only place that knows the fields of
// responses to operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "server/base/errno.h"
#include "server/rpc/wire_writer.h"
#include "server/vfs/operation.h"

namespace vfsd::rpc {

// What ReadRequest and ReadDirectoryRequest promise.
inline constexpr uint32_t kMaxReadBytes = 1024 * 1024;
inline constexpr uint32_t kDefaultPageSize = 1000;
inline constexpr uint32_t kMaxPageSize = 10'000;

// Upper bounds of encodings.
inline constexpr size_t kMaxStatBytes = 192;
inline constexpr size_t MaxEntryBytes(bool with_attributes) {
  return 255 + 32 + (with_attributes ? kMaxStatBytes : 0);
}
// Tag and length before the bytes of a ReadResponse.
inline constexpr size_t kReadHeadBytes = 1 + 4;

// Bytes of a length field that hold any response to this operation.
template <typename Operation>
constexpr int ResponseLengthWidth() {
  switch (Operation::kKind) {
    case vfs::OperationKind::kStat:
    case vfs::OperationKind::kReadLink:
      return 2;
    case vfs::OperationKind::kRead:
    case vfs::OperationKind::kReadDirectory:
      return 4;
    default:
      return 1;
  }
}

// The room that a response to this operation takes at most, but for the bytes
// of what is read (data, names, a link's target). 0: no more than an error.
template <typename Operation>
constexpr size_t MinResponseRoom() {
  switch (Operation::kKind) {
    case vfs::OperationKind::kStat:
      return kMaxStatBytes;
    case vfs::OperationKind::kReadLink:
    case vfs::OperationKind::kRead:
    case vfs::OperationKind::kReadDirectory:
      return 16;
    case vfs::OperationKind::kStatFilesystem:
      return 128;
    default:
      return 0;
  }
}

// Responses that say nothing but that it worked; to an Open; to a Stat; to a
// ReadLink; to a StatFilesystem; to a ReadDirectory.
void EncodeResponse(WireWriter& writer, vfs::Done done);
void EncodeResponse(WireWriter& writer, vfs::Handle handle);
void EncodeResponse(WireWriter& writer, const vfs::Statx& statx);
void EncodeResponse(WireWriter& writer, const std::string& target);
void EncodeResponse(WireWriter& writer, const vfs::Statfs& statfs);
void EncodeResponse(WireWriter& writer, const vfs::DirectoryPage& page,
                    bool with_attributes);

// To a Read whose `size` bytes lie kReadHeadBytes behind the writer's end
// already. REQUIRES: as WireWriter::Put.
void EncodeFilledRead(WireWriter& writer, size_t size);

// A whole response that only tells an error, in band.
void EncodeErrno(WireWriter& writer, Errno error);
// The same as a row of a BatchResponse; kOk: success that says nothing more.
void EncodeBatchErrno(WireWriter& writer, Errno error);

}  // namespace vfsd::rpc
