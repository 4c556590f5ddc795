#include "server/rpc/response_encoder.h"

#include <cassert>

#include "server/rpc/operation_api.h"
#include "server/rpc/utf8.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {
namespace {

namespace v1 = ::vfs::v1;

void PutTime(WireWriter& writer, int seconds_field, int nanoseconds_field,
             Timestamp time) {
  // sfixed64: two's complement.
  writer.PutFixed64Field(seconds_field, static_cast<uint64_t>(time.seconds()));
  writer.PutFixed32Field(nanoseconds_field, time.nanoseconds());
}

// REQUIRES: kMaxStatBytes are ensured.
void PutStatx(WireWriter& writer, const vfs::Statx& statx) {
  using Field = v1::StatResponse;
  writer.PutFixed32Field(Field::kMaskFieldNumber, statx.mask);
  writer.PutFixed32Field(Field::kBlksizeFieldNumber, statx.blksize);
  writer.PutFixed64Field(Field::kAttributesFieldNumber, statx.attributes);
  writer.PutFixed64Field(Field::kAttributesMaskFieldNumber,
                         statx.attributes_mask);
  writer.PutFixed32Field(Field::kNlinkFieldNumber, statx.nlink);
  writer.PutFixed32Field(Field::kUidFieldNumber, statx.uid);
  writer.PutFixed32Field(Field::kGidFieldNumber, statx.gid);
  writer.PutFixed32Field(Field::kModeFieldNumber, statx.mode);
  writer.PutFixed64Field(Field::kInoFieldNumber, statx.ino);
  writer.PutFixed64Field(Field::kSizeFieldNumber, statx.size);
  writer.PutFixed64Field(Field::kBlocksFieldNumber, statx.blocks);
  PutTime(writer, Field::kAtimeSecondsFieldNumber,
          Field::kAtimeNanosecondsFieldNumber, statx.atime);
  PutTime(writer, Field::kBtimeSecondsFieldNumber,
          Field::kBtimeNanosecondsFieldNumber, statx.btime);
  PutTime(writer, Field::kCtimeSecondsFieldNumber,
          Field::kCtimeNanosecondsFieldNumber, statx.ctime);
  PutTime(writer, Field::kMtimeSecondsFieldNumber,
          Field::kMtimeNanosecondsFieldNumber, statx.mtime);
  writer.PutFixed32Field(Field::kRdevMajorFieldNumber, statx.rdev_major);
  writer.PutFixed32Field(Field::kRdevMinorFieldNumber, statx.rdev_minor);
  writer.PutFixed32Field(Field::kDevMajorFieldNumber, statx.dev_major);
  writer.PutFixed32Field(Field::kDevMinorFieldNumber, statx.dev_minor);
  writer.PutFixed64Field(Field::kMntIdFieldNumber, statx.mnt_id);
  writer.PutFixed32Field(Field::kDioMemAlignFieldNumber, statx.dio_mem_align);
  writer.PutFixed32Field(Field::kDioOffsetAlignFieldNumber,
                         statx.dio_offset_align);
}

}  // namespace

void EncodeResponse(WireWriter&, vfs::Done) {}

void EncodeResponse(WireWriter& writer, vfs::Handle handle) {
  writer.Ensure(16);
  writer.PutFixed64Field(v1::OpenResponse::kHandleFieldNumber, handle);
}

void EncodeResponse(WireWriter& writer, const vfs::Statx& statx) {
  writer.Ensure(kMaxStatBytes);
  PutStatx(writer, statx);
}

void EncodeResponse(WireWriter& writer, const std::string& target) {
  using Field = v1::ReadLinkResponse;
  writer.Ensure(target.size() + 16);
  writer.PutBytesField(
      IsUtf8(target) ? Field::kTargetFieldNumber : Field::kRawTargetFieldNumber,
      target);
}

void EncodeResponse(WireWriter& writer, const vfs::Statfs& statfs) {
  using Field = v1::StatFilesystemResponse;
  writer.Ensure(64);
  writer.PutFixed64Field(Field::kTypeFieldNumber, statfs.type);
  writer.PutFixed32Field(Field::kBlockSizeFieldNumber, statfs.block_size);
  writer.PutFixed64Field(Field::kFilesFieldNumber, statfs.files);
  writer.PutFixed32Field(Field::kNameMaxFieldNumber, statfs.name_max);
  writer.PutFixed32Field(Field::kFlagsFieldNumber, statfs.flags);
  writer.PutFixed32Field(Field::kDevMajorFieldNumber, statfs.dev_major);
  writer.PutFixed32Field(Field::kDevMinorFieldNumber, statfs.dev_minor);
}

void EncodeResponse(WireWriter& writer, const vfs::DirectoryPage& page,
                    bool with_attributes) {
  using Field = v1::DirectoryEntry;
  for (const vfs::DirectoryEntry& entry : page.entries) {
    writer.Ensure(entry.name.size() + MaxEntryBytes(true));
    const auto row =
        writer.Begin<2>(v1::ReadDirectoryResponse::kEntriesFieldNumber);
    writer.PutBytesField(IsUtf8(entry.name) ? Field::kNameFieldNumber
                                            : Field::kRawNameFieldNumber,
                         entry.name);
    writer.PutFixed64Field(Field::kInoFieldNumber, entry.ino);
    writer.PutVarintField(Field::kTypeFieldNumber, entry.type);
    if (with_attributes) {
      const auto attributes = writer.Begin<2>(Field::kAttributesFieldNumber);
      PutStatx(writer, entry.attributes);
      writer.End<2>(attributes);
    }
    writer.End<2>(row);
  }
  writer.Ensure(16);
  writer.PutFixed64Field(v1::ReadDirectoryResponse::kNextCursorFieldNumber,
                         page.next_cursor);
}

void EncodeFilledRead(WireWriter& writer, size_t size) {
  [[maybe_unused]] const uint8_t* start = writer.cursor();
  const auto data = writer.Begin<4>(v1::ReadResponse::kDataFieldNumber);
  assert(writer.cursor() == start + kReadHeadBytes);
  writer.Skip(size);
  writer.End<4>(data);
}

void EncodeErrno(WireWriter& writer, Errno error) {
  // errno_code is the first field of every response.
  writer.Ensure(16);
  writer.PutVarintField(v1::OpenResponse::kErrnoCodeFieldNumber,
                        static_cast<uint64_t>(error));
}

void EncodeBatchErrno(WireWriter& writer, Errno error) {
  writer.Ensure(16);
  const auto row = writer.Begin<1>(v1::BatchResponse::kResultsFieldNumber);
  writer.PutVarintField(v1::BatchResult::kErrnoCodeFieldNumber,
                        static_cast<uint64_t>(error));
  writer.End<1>(row);
}

}  // namespace vfsd::rpc
