#include "server/rpc/request_decoder.h"

#include "server/rpc/column_decoder.h"
#include "server/rpc/utf8.h"
#include "server/rpc/wire_format.h"
#include "server/vfs/linux_abi.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {
namespace {

namespace v1 = ::vfs::v1;

// Takers of a field's value. A field of another wire type than declared is an
// unknown field, which is skipped: hence `true`. False: malformed.
template <WireType type, typename Value>
bool TakeScalar(const WireField& field, Value& value) {
  if (field.type == type) value = static_cast<Value>(field.value);
  return true;
}
template <typename Value>
bool TakeVarint(const WireField& field, Value& value) {
  return TakeScalar<WireType::kVarint>(field, value);
}
template <typename Value>
bool TakeFixed64(const WireField& field, Value& value) {
  return TakeScalar<WireType::kFixed64>(field, value);
}

bool TakeText(const WireField& field, vfs::PathArgument& path) {
  if (field.type != WireType::kLength) return true;
  path = field.bytes;
  return IsUtf8(field.bytes);
}
bool TakeBytes(const WireField& field, vfs::PathArgument& path) {
  if (field.type == WireType::kLength) path = field.bytes;
  return true;
}

// oneof { fixed64 handle; uint32 operation }: the last one counts.
template <typename Handle>
bool TakeHandle(const WireField& field, Handle& handle,
                OperationReference& reference) {
  if (field.type != WireType::kFixed64) return true;
  handle = field.value;
  reference.reset();
  return true;
}
template <typename Handle>
bool TakeReference(const WireField& field, Handle& handle,
                   OperationReference& reference) {
  if (field.type != WireType::kVarint) return true;
  handle = {};
  reference = static_cast<uint32_t>(field.value);
  return true;
}

// A device's number, half of which each of two fields tells.
bool TakeMajor(const WireField& field, uint64_t& device) {
  uint32_t major = vfs::linux_abi::DeviceMajor(device);
  TakeVarint(field, major);
  device =
      vfs::linux_abi::MakeDevice(major, vfs::linux_abi::DeviceMinor(device));
  return true;
}
bool TakeMinor(const WireField& field, uint64_t& device) {
  uint32_t minor = vfs::linux_abi::DeviceMinor(device);
  TakeVarint(field, minor);
  device =
      vfs::linux_abi::MakeDevice(vfs::linux_abi::DeviceMajor(device), minor);
  return true;
}

// Now beats a given time.
void SettleTime(std::optional<int64_t> seconds, bool now,
                vfs::TimeChange& time) {
  using Kind = vfs::TimeChange::Kind;
  time.kind = now ? Kind::kNow : seconds ? Kind::kSet : Kind::kOmit;
  time.seconds = seconds.value_or(0);
}

// What several fields decide together, once all of them are there.
template <typename Operation>
void Settle(OperationRequest<Operation>&) {}
void Settle(OperationRequest<vfs::SetAttributesOperation>& request) {
  vfs::SetAttributesOperation& operation = request.operation;
  // A chown of one side is a chown.
  operation.changes_owner = request.change_owner || operation.uid.has_value() ||
                            operation.gid.has_value();
  SettleTime(request.atime_seconds, request.atime_now, operation.atime);
  SettleTime(request.mtime_seconds, request.mtime_now, operation.mtime);
}

bool TakeFixed32(const WireField& field, uint32_t& value) {
  return TakeScalar<WireType::kFixed32>(field, value);
}

}  // namespace

bool RequestDecoder::Decode(std::string_view message,
                            ClaimedCredentials& credentials) {
  using Numbers = v1::Credentials;
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    switch (field.number) {
      case Numbers::kUidFieldNumber:
        TakeVarint(field, credentials.uid);
        break;
      case Numbers::kGidFieldNumber:
        TakeVarint(field, credentials.gid);
        break;
      case Numbers::kGroupsFieldNumber: {
        if (field.type == WireType::kVarint) {
          credentials.groups.push_back(static_cast<uint32_t>(field.value));
        } else if (field.type == WireType::kLength) {
          WireReader packed(field.bytes);
          for (uint64_t group; packed.NextVarint(group);) {
            credentials.groups.push_back(static_cast<uint32_t>(group));
          }
          if (packed.malformed()) return false;
        }
        break;
      }
      default:
        break;
    }
  }
  return !reader.malformed();
}

bool RequestDecoder::DecodeCredentials(const WireField& field, int32_t& index) {
  if (field.type != WireType::kLength) return true;
  if (index < 0) {
    index = static_cast<int32_t>(credentials_.size());
    credentials_.emplace_back();
  }
  return Decode(field.bytes, credentials_[static_cast<size_t>(index)]);
}

// Fields of one name mean the same in all requests that have them.
template <typename Operation>
bool RequestDecoder::DecodeField(const WireField& field,
                                 OperationRequest<Operation>& request) {
  using Numbers = typename OperationApi<Operation>::Request;
  Operation& operation = request.operation;
#define VFSD_FIELD(NAME, TAKE)                                                \
  if constexpr (requires { Numbers::k##NAME##FieldNumber; }) {                \
    if (field.number == static_cast<uint32_t>(Numbers::k##NAME##FieldNumber)) \
      return TAKE;                                                            \
  }
  VFSD_FIELD(Session, TakeFixed64(field, request.session))
  VFSD_FIELD(DirHandle, TakeHandle(field, operation.dir, request.reference))
  VFSD_FIELD(DirOperation,
             TakeReference(field, operation.dir, request.reference))
  VFSD_FIELD(Path, TakeText(field, operation.path))
  VFSD_FIELD(RawPath, TakeBytes(field, operation.path))
  VFSD_FIELD(Handle, TakeHandle(field, operation.handle, request.reference))
  VFSD_FIELD(HandleOperation,
             TakeReference(field, operation.handle, request.reference))
  VFSD_FIELD(OldDirHandle,
             TakeHandle(field, operation.old_dir, request.reference))
  VFSD_FIELD(OldDirOperation,
             TakeReference(field, operation.old_dir, request.reference))
  VFSD_FIELD(OldPath, TakeText(field, operation.old_path))
  VFSD_FIELD(RawOldPath, TakeBytes(field, operation.old_path))
  VFSD_FIELD(NewDirHandle,
             TakeHandle(field, operation.new_dir, request.new_reference))
  VFSD_FIELD(NewDirOperation,
             TakeReference(field, operation.new_dir, request.new_reference))
  VFSD_FIELD(NewPath, TakeText(field, operation.new_path))
  VFSD_FIELD(RawNewPath, TakeBytes(field, operation.new_path))
  VFSD_FIELD(Flags, TakeVarint(field, operation.flags))
  VFSD_FIELD(Mode, TakeVarint(field, operation.mode))
  VFSD_FIELD(Mask, TakeVarint(field, operation.mask))
  VFSD_FIELD(Offset, TakeVarint(field, operation.offset))
  VFSD_FIELD(Size, TakeVarint(field, request.size))
  VFSD_FIELD(PageSize, TakeVarint(field, operation.page_size))
  VFSD_FIELD(Cursor, TakeFixed64(field, operation.cursor))
  VFSD_FIELD(WithAttributes, TakeVarint(field, operation.with_attributes))
  VFSD_FIELD(Resolve, TakeVarint(field, operation.resolve))
  VFSD_FIELD(Target, TakeText(field, operation.target))
  VFSD_FIELD(RawTarget, TakeBytes(field, operation.target))
  VFSD_FIELD(RdevMajor, TakeMajor(field, operation.device))
  VFSD_FIELD(RdevMinor, TakeMinor(field, operation.device))
  VFSD_FIELD(Uid, TakeVarint(field, operation.uid))
  VFSD_FIELD(Gid, TakeVarint(field, operation.gid))
  VFSD_FIELD(ChangeOwner, TakeVarint(field, request.change_owner))
  VFSD_FIELD(SizeBytes, TakeVarint(field, operation.size))
  VFSD_FIELD(AtimeSeconds, TakeFixed64(field, request.atime_seconds))
  VFSD_FIELD(AtimeNanoseconds, TakeFixed32(field, operation.atime.nanoseconds))
  VFSD_FIELD(AtimeNow, TakeVarint(field, request.atime_now))
  VFSD_FIELD(MtimeSeconds, TakeFixed64(field, request.mtime_seconds))
  VFSD_FIELD(MtimeNanoseconds, TakeFixed32(field, operation.mtime.nanoseconds))
  VFSD_FIELD(MtimeNow, TakeVarint(field, request.mtime_now))
  VFSD_FIELD(RequestId, TakeFixed64(field, operation.request_id))
  VFSD_FIELD(Credentials, DecodeCredentials(field, request.credentials))
#undef VFSD_FIELD
  return true;
}

template <typename Operation>
bool RequestDecoder::Decode(std::string_view message,
                            OperationRequest<Operation>& request) {
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    if (!DecodeField(field, request)) return false;
  }
  Settle(request);
  return !reader.malformed();
}

template <typename Operation>
bool RequestDecoder::DecodeAlternative(const WireField& field,
                                       AnyOperationRequest& request) {
  using Request = OperationRequest<Operation>;
  // Twice the same kind is merged; of two kinds the last one counts.
  if (!std::holds_alternative<Request>(request)) request.emplace<Request>();
  return Decode(field.bytes, std::get<Request>(request));
}

template <typename... Operations>
bool RequestDecoder::DecodeBatchOperation(std::string_view message,
                                          AnyOperationRequest& request,
                                          OperationList<Operations...>) {
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    if (field.type != WireType::kLength) continue;
    bool well_formed = true;
    // The alternative whose field it is, if it is one.
    static_cast<void>((
        (field.number ==
             static_cast<uint32_t>(OperationApi<Operations>::kBatchOperation) &&
         (well_formed = DecodeAlternative<Operations>(field, request), true)) ||
        ...));
    if (!well_formed) return false;
  }
  return !reader.malformed();
}

RequestDecoder::Outcome RequestDecoder::DecodeBatch(std::string_view message,
                                                    size_t max_operations,
                                                    BatchOfRequests& batch) {
  using Numbers = v1::BatchRequest;
  batch.session = 0;
  batch.stop_on_error = false;
  batch.operations.clear();
  batch.groups.clear();
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    switch (field.number) {
      case Numbers::kSessionFieldNumber:
        TakeFixed64(field, batch.session);
        break;
      case Numbers::kStopOnErrorFieldNumber:
        TakeVarint(field, batch.stop_on_error);
        break;
      case Numbers::kOperationsFieldNumber:
        if (field.type != WireType::kLength) break;
        if (batch.operations.size() == max_operations)
          return Outcome::kTooManyOperations;
        if (!DecodeBatchOperation(field.bytes, batch.operations.emplace_back(),
                                  AllOperations())) {
          return Outcome::kMalformed;
        }
        break;
      case Numbers::kGroupsFieldNumber:
        if (field.type != WireType::kLength) break;
        if (batch.groups.size() == max_operations)
          return Outcome::kTooManyOperations;
        if (!DecodeColumnGroup(field.bytes, batch.groups.emplace_back()))
          return Outcome::kMalformed;
        break;
      default:
        break;
    }
  }
  if (reader.malformed() || !SettleColumnGroups(batch.groups))
    return Outcome::kMalformed;
  size_t operations = batch.operations.size();
  for (const ColumnGroup& group : batch.groups) operations += group.count;
  return operations > max_operations ? Outcome::kTooManyOperations
                                     : Outcome::kOk;
}

#define VFSD_INSTANTIATE(Operation)                      \
  template bool RequestDecoder::Decode(std::string_view, \
                                       OperationRequest<vfs::Operation>&);
VFSD_INSTANTIATE(OpenOperation)
VFSD_INSTANTIATE(CloseOperation)
VFSD_INSTANTIATE(StatOperation)
VFSD_INSTANTIATE(AccessOperation)
VFSD_INSTANTIATE(ReadOperation)
VFSD_INSTANTIATE(ReadDirectoryOperation)
VFSD_INSTANTIATE(MakeDirectoryOperation)
VFSD_INSTANTIATE(UnlinkOperation)
VFSD_INSTANTIATE(RenameOperation)
VFSD_INSTANTIATE(MakeNodeOperation)
VFSD_INSTANTIATE(MakeSymlinkOperation)
VFSD_INSTANTIATE(MakeLinkOperation)
VFSD_INSTANTIATE(ReadLinkOperation)
VFSD_INSTANTIATE(SetAttributesOperation)
VFSD_INSTANTIATE(StatFilesystemOperation)
#undef VFSD_INSTANTIATE

}  // namespace vfsd::rpc
