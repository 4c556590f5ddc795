#include "server/rpc/column_decoder.h"

#include "server/rpc/wire_reader.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {
namespace {

namespace v1 = ::vfs::v1;

template <typename Value>
void TakeVarint(const WireField& field, Value& value) {
  if (field.type == WireType::kVarint) value = static_cast<Value>(field.value);
}

// A repeated fixed field: packed, or value by value.
template <typename Value>
bool TakeFixed(const WireField& field, FixedColumn<Value>& column) {
  constexpr WireType kSingle =
      sizeof(Value) == 8 ? WireType::kFixed64 : WireType::kFixed32;
  if (field.type == WireType::kLength) return column.Append(field.bytes);
  if (field.type == kSingle) column.Append(static_cast<Value>(field.value));
  return true;
}

// Calls `take(field)` for each field of a message, until it returns false.
template <typename Take>
bool ForEachField(std::string_view message, Take&& take) {
  WireReader reader(message);
  for (WireField field; reader.Next(field);) {
    if (!take(field)) return false;
  }
  return !reader.malformed();
}

bool TakePaths(const WireField& field, std::optional<PathColumn>& paths) {
  if (field.type != WireType::kLength) return true;
  if (!paths.has_value()) paths.emplace();
  return ForEachField(field.bytes, [&](const WireField& inner) {
    switch (inner.number) {
      case v1::PathColumn::kJoinedFieldNumber:
        if (inner.type == WireType::kLength) paths->joined = inner.bytes;
        return true;
      case v1::PathColumn::kEndsFieldNumber:
        return TakeFixed(inner, paths->ends);
      default:
        return true;
    }
  });
}

bool TakeFiles(const WireField& field, std::optional<HandleColumn>& files) {
  if (field.type != WireType::kLength) return true;
  if (!files.has_value()) files.emplace();
  return ForEachField(field.bytes, [&](const WireField& inner) {
    switch (inner.number) {
      case v1::HandleColumn::kHandlesFieldNumber:
        return TakeFixed(inner, files->handles);
      case v1::HandleColumn::kGroupFieldNumber:
        if (inner.type == WireType::kVarint)
          TakeVarint(inner, files->group.emplace());
        return true;
      default:
        return true;
    }
  });
}

void TakeDirectory(const WireField& field, vfs::DirectoryArgument& dir) {
  if (field.type == WireType::kFixed64) dir = field.value;
}

// A field of one of the kinds.
bool TakeField(const WireField& field, ColumnGroup& group) {
  using Group = v1::ColumnGroup;
  const auto is = [&](uint32_t kind, int number) {
    return group.kind == kind && field.number == static_cast<uint32_t>(number);
  };
#define VFSD_FIELD(KIND, NAME, TAKE)                                 \
  if (is(Group::k##KIND, v1::KIND##Columns::k##NAME##FieldNumber)) { \
    TAKE;                                                            \
    return true;                                                     \
  }
#define VFSD_CHECKED_FIELD(KIND, NAME, TAKE)                         \
  if (is(Group::k##KIND, v1::KIND##Columns::k##NAME##FieldNumber)) { \
    return TAKE;                                                     \
  }
  VFSD_FIELD(Open, DirHandle, TakeDirectory(field, group.dir))
  VFSD_CHECKED_FIELD(Open, Paths, TakePaths(field, group.paths))
  VFSD_FIELD(Open, Flags, TakeVarint(field, group.flags))
  VFSD_FIELD(Open, Mode, TakeVarint(field, group.mode))
  VFSD_CHECKED_FIELD(Close, Files, TakeFiles(field, group.files))
  VFSD_FIELD(Stat, DirHandle, TakeDirectory(field, group.dir))
  VFSD_CHECKED_FIELD(Stat, Paths, TakePaths(field, group.paths))
  VFSD_CHECKED_FIELD(Stat, Files, TakeFiles(field, group.files))
  VFSD_FIELD(Stat, Flags, TakeVarint(field, group.flags))
  VFSD_FIELD(Stat, Mask, TakeVarint(field, group.mask))
  VFSD_FIELD(Stat, UnmaskedFields, TakeVarint(field, group.unmasked_fields))
  VFSD_FIELD(Access, DirHandle, TakeDirectory(field, group.dir))
  VFSD_CHECKED_FIELD(Access, Paths, TakePaths(field, group.paths))
  VFSD_FIELD(Access, Mode, TakeVarint(field, group.mode))
  VFSD_FIELD(Access, Flags, TakeVarint(field, group.flags))
  VFSD_CHECKED_FIELD(Read, Files, TakeFiles(field, group.files))
  VFSD_FIELD(Read, Offset, TakeVarint(field, group.offset))
  VFSD_FIELD(Read, Size, TakeVarint(field, group.size))
#undef VFSD_FIELD
#undef VFSD_CHECKED_FIELD
  return true;
}

bool IsKind(uint32_t number) {
  switch (number) {
    case v1::ColumnGroup::kOpen:
    case v1::ColumnGroup::kClose:
    case v1::ColumnGroup::kStat:
    case v1::ColumnGroup::kAccess:
    case v1::ColumnGroup::kRead:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool DecodeColumnGroup(std::string_view message, ColumnGroup& group) {
  return ForEachField(message, [&](const WireField& kind) {
    if (kind.type != WireType::kLength || !IsKind(kind.number)) return true;
    // Twice the same kind is merged; of two kinds the last one counts.
    if (group.kind != kind.number) {
      group = ColumnGroup();
      group.kind = kind.number;
    }
    return ForEachField(kind.bytes, [&](const WireField& field) {
      return TakeField(field, group);
    });
  });
}

bool SettleColumnGroups(std::vector<ColumnGroup>& groups) {
  for (size_t i = 0; i < groups.size(); ++i) {
    ColumnGroup& group = groups[i];
    if (group.paths.has_value()) {
      if (!group.paths->valid()) return false;
      group.count = group.paths->size();
    } else if (group.files.has_value() && group.files->group.has_value()) {
      const uint32_t opener = *group.files->group;
      if (opener >= i || groups[opener].kind != v1::ColumnGroup::kOpen)
        return false;
      group.count = groups[opener].count;
    } else if (group.files.has_value()) {
      group.count = group.files->handles.size();
    }
  }
  return true;
}

}  // namespace vfsd::rpc
