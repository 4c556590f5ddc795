#include "server/rpc/column_runner.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "server/rpc/backend.h"
#include "server/rpc/response_encoder.h"
#include "server/vfs/linux_abi.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {
namespace {

namespace v1 = ::vfs::v1;
namespace abi = vfs::linux_abi;

// A message of at most max_message_bytes and little more.
constexpr int kLengthWidth = 4;
static_assert(kLargestMaxMessageBytes <= 1U << (7 * kLengthWidth - 1));
// A field's tag (at most two bytes here) and its length.
constexpr size_t kHeadBytes = 2 + 10;

// Selects the columns that no STATX bit does; not a bit of statx(2).
constexpr uint32_t kUnmasked = 0x40000000;

// A column of a StatResultColumns: when it is wanted, its field and its value.
template <typename V, uint32_t select, int field,
          V (*value)(const vfs::Statx& statx)>
struct StatColumn {
  using Value = V;
  static constexpr uint32_t kSelect = select;
  static constexpr int kField = field;
  static constexpr auto kValue = value;
};

template <typename... Columns>
struct StatColumnList {
  static constexpr size_t kCount = sizeof...(Columns);
};

#define VFSD_COLUMN(VALUE, SELECT, NAME, EXPRESSION)                     \
  StatColumn<VALUE, SELECT, v1::StatResultColumns::k##NAME##FieldNumber, \
             [](const vfs::Statx& statx) -> VALUE { return EXPRESSION; }>
using AllStatColumns = StatColumnList<
    VFSD_COLUMN(uint32_t, kUnmasked, Blksize, statx.blksize),
    VFSD_COLUMN(uint64_t, kUnmasked, Attributes, statx.attributes),
    VFSD_COLUMN(uint64_t, kUnmasked, AttributesMask, statx.attributes_mask),
    VFSD_COLUMN(uint32_t, abi::kStatxNlink, Nlink, statx.nlink),
    VFSD_COLUMN(uint32_t, abi::kStatxUid, Uid, statx.uid),
    VFSD_COLUMN(uint32_t, abi::kStatxGid, Gid, statx.gid),
    VFSD_COLUMN(uint32_t, abi::kStatxType | abi::kStatxMode, Mode, statx.mode),
    VFSD_COLUMN(uint64_t, abi::kStatxIno, Ino, statx.ino),
    VFSD_COLUMN(uint64_t, abi::kStatxSize, Size, statx.size),
    VFSD_COLUMN(uint64_t, abi::kStatxBlocks, Blocks, statx.blocks),
    VFSD_COLUMN(int64_t, abi::kStatxAtime, AtimeSeconds, statx.atime.seconds()),
    VFSD_COLUMN(uint32_t, abi::kStatxAtime, AtimeNanoseconds,
                statx.atime.nanoseconds()),
    VFSD_COLUMN(int64_t, abi::kStatxBtime, BtimeSeconds, statx.btime.seconds()),
    VFSD_COLUMN(uint32_t, abi::kStatxBtime, BtimeNanoseconds,
                statx.btime.nanoseconds()),
    VFSD_COLUMN(int64_t, abi::kStatxCtime, CtimeSeconds, statx.ctime.seconds()),
    VFSD_COLUMN(uint32_t, abi::kStatxCtime, CtimeNanoseconds,
                statx.ctime.nanoseconds()),
    VFSD_COLUMN(int64_t, abi::kStatxMtime, MtimeSeconds, statx.mtime.seconds()),
    VFSD_COLUMN(uint32_t, abi::kStatxMtime, MtimeNanoseconds,
                statx.mtime.nanoseconds()),
    VFSD_COLUMN(uint32_t, kUnmasked, RdevMajor, statx.rdev_major),
    VFSD_COLUMN(uint32_t, kUnmasked, RdevMinor, statx.rdev_minor),
    VFSD_COLUMN(uint32_t, kUnmasked, DevMajor, statx.dev_major),
    VFSD_COLUMN(uint32_t, kUnmasked, DevMinor, statx.dev_minor),
    VFSD_COLUMN(uint64_t, abi::kStatxMntId | abi::kStatxMntIdUnique, MntId,
                statx.mnt_id),
    VFSD_COLUMN(uint32_t, abi::kStatxDioalign, DioMemAlign,
                statx.dio_mem_align),
    VFSD_COLUMN(uint32_t, abi::kStatxDioalign, DioOffsetAlign,
                statx.dio_offset_align)>;
#undef VFSD_COLUMN

// The arrays of a StatResultColumns, laid out in the writer's memory.
class StatArrays {
 public:
  // selected: STATX_* and kUnmasked.
  StatArrays(uint32_t selected, size_t count)
      : selected_(selected), count_(count) {}

  size_t Bytes() const { return BytesOf(AllStatColumns()); }
  // REQUIRES: Bytes() are ensured.
  void Lay(WireWriter& writer) { LayOut(writer, AllStatColumns()); }
  void Set(size_t index, const vfs::Statx& statx) {
    SetEach(index, statx, AllStatColumns());
  }
  void Clear(size_t index) { Set(index, vfs::Statx()); }

 private:
  template <typename... Columns>
  size_t BytesOf(StatColumnList<Columns...>) const {
    return ((Wants<Columns>()
                 ? kHeadBytes + count_ * sizeof(typename Columns::Value)
                 : 0) +
            ...);
  }
  template <typename... Columns>
  void LayOut(WireWriter& writer, StatColumnList<Columns...>) {
    uint8_t** base = bases_.data();
    (LayOne<Columns>(writer, *base++), ...);
  }
  template <typename Column>
  void LayOne(WireWriter& writer, uint8_t*& base) const {
    if (!Wants<Column>()) return;
    const size_t bytes = count_ * sizeof(typename Column::Value);
    writer.PutVarint(MakeTag(Column::kField, WireType::kLength));
    writer.PutVarint(bytes);
    base = writer.cursor();
    writer.Skip(bytes);
  }
  template <typename... Columns>
  void SetEach(size_t index, const vfs::Statx& statx,
               StatColumnList<Columns...>) {
    uint8_t* const* base = bases_.data();
    (SetOne<Columns>(index, statx, *base++), ...);
  }
  template <typename Column>
  void SetOne(size_t index, const vfs::Statx& statx, uint8_t* base) const {
    if (!Wants<Column>()) return;
    const typename Column::Value value = Column::kValue(statx);
    std::memcpy(base + index * sizeof(value), &value, sizeof(value));
  }
  template <typename Column>
  bool Wants() const {
    return (selected_ & Column::kSelect) != 0;
  }

  const uint32_t selected_;
  const size_t count_;
  std::array<uint8_t*, AllStatColumns::kCount> bases_{};
};

template <typename Value>
void PutColumn(WireWriter& writer, int field, std::span<const Value> values) {
  if (values.empty()) return;
  writer.Ensure(kHeadBytes + values.size_bytes());
  writer.PutVarint(MakeTag(field, WireType::kLength));
  writer.PutVarint(values.size_bytes());
  writer.PutBytes(
      {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

}  // namespace

void ColumnRunner::Run(const vfs::Caller& caller,
                       const std::vector<ColumnGroup>& groups,
                       bool stop_on_error, bool stopped, WireWriter& writer) {
  caller_ = &caller;
  stop_on_error_ = stop_on_error;
  stopped_ = stopped;
  opened_.clear();
  opened_begin_.assign(groups.size(), 0);
  for (index_ = 0; index_ < groups.size(); ++index_) {
    const ColumnGroup& group = groups[index_];
    errors_.clear();
    count_ = group.count;
    writer.Ensure(2 * kHeadBytes);
    const auto row =
        writer.Begin<kLengthWidth>(v1::BatchResponse::kGroupsFieldNumber);
    writer.PutVarintField(v1::ColumnGroupResult::kCountFieldNumber, count_);
    switch (group.kind) {
      case v1::ColumnGroup::kOpen:
        RunOpen(group, writer);
        break;
      case v1::ColumnGroup::kClose:
        RunClose(group);
        break;
      case v1::ColumnGroup::kStat:
        RunStat(group, writer);
        break;
      case v1::ColumnGroup::kAccess:
        RunAccess(group);
        break;
      case v1::ColumnGroup::kRead:
        RunRead(group, writer);
        break;
      default:
        break;
    }
    PutColumn<uint32_t>(writer, v1::ColumnGroupResult::kErrnoCodesFieldNumber,
                        errors_);
    writer.End<kLengthWidth>(row);
  }
}

void ColumnRunner::Fail(size_t index, size_t count, Errno error) {
  if (errors_.empty()) errors_.assign(count, 0);
  errors_[index] = static_cast<uint32_t>(error);
  stopped_ = stopped_ || stop_on_error_;
}

template <typename Operation, typename Done>
void ColumnRunner::RunOne(size_t index, const Operation& operation,
                          Done&& done) {
  const auto result = executor_.Execute(*caller_, operation);
  if (result.has_value()) {
    done(index, *result);
  } else {
    Fail(index, count_, result.error());
  }
}

template <typename Operation, typename Done>
void ColumnRunner::ForEachPath(const ColumnGroup& group, Operation& operation,
                               Done&& done) {
  operation.dir = group.dir;
  uint32_t begin = 0;
  for (size_t i = 0; i < group.count; ++i) {
    if (stopped_) {
      Fail(i, count_, Errno::kECANCELED);
      continue;
    }
    const uint32_t end = group.paths->ends[i];
    operation.path = group.paths->joined.substr(begin, end - begin);
    begin = end;
    RunOne(i, operation, done);
  }
}

template <typename RunOneFile>
void ColumnRunner::ForEachFile(const ColumnGroup& group, RunOneFile&& run_one) {
  const HandleColumn& files = *group.files;
  const bool chained = files.group.has_value();
  const size_t begin = chained ? opened_begin_[*files.group] : 0;
  for (size_t i = 0; i < group.count; ++i) {
    const vfs::Handle handle = chained ? opened_[begin + i] : files.handles[i];
    if (stopped_ || (chained && handle == 0)) {
      Fail(i, count_, Errno::kECANCELED);
    } else {
      run_one(i, handle);
    }
  }
}

void ColumnRunner::RunOpen(const ColumnGroup& group, WireWriter& writer) {
  opened_begin_[index_] = opened_.size();
  opened_.resize(opened_.size() + group.count, 0);
  const auto opened = std::span(opened_).last(group.count);
  if (!group.paths.has_value()) return;
  vfs::OpenOperation operation;
  operation.flags = group.flags;
  operation.mode = group.mode;
  bool any = false;
  ForEachPath(group, operation, [&](size_t i, vfs::Handle handle) {
    opened[i] = handle;
    any = true;
  });
  if (!any) return;
  writer.Ensure(kHeadBytes);
  const auto kind =
      writer.Begin<kLengthWidth>(v1::ColumnGroupResult::kOpenFieldNumber);
  PutColumn<vfs::Handle>(writer, v1::OpenResultColumns::kHandlesFieldNumber,
                         opened);
  writer.End<kLengthWidth>(kind);
}

void ColumnRunner::RunClose(const ColumnGroup& group) {
  if (!group.files.has_value()) return;
  vfs::CloseOperation operation;
  ForEachFile(group, [&](size_t i, vfs::Handle handle) {
    operation.handle = handle;
    RunOne(i, operation, [](size_t, vfs::Done) {});
  });
}

void ColumnRunner::RunAccess(const ColumnGroup& group) {
  if (!group.paths.has_value()) return;
  vfs::AccessOperation operation;
  operation.mode = group.mode;
  operation.flags = group.flags;
  ForEachPath(group, operation, [](size_t, vfs::Done) {});
}

void ColumnRunner::RunStat(const ColumnGroup& group, WireWriter& writer) {
  vfs::StatOperation operation;
  operation.flags = group.flags;
  operation.mask = group.mask;
  const uint32_t wanted = group.mask & ~(abi::kStatxReserved | kUnmasked);
  StatArrays arrays(wanted | (group.unmasked_fields ? kUnmasked : 0), count_);
  const size_t bytes = arrays.Bytes();
  if (writer.size() + bytes + count_ * 2 * sizeof(uint32_t) > max_bytes_) {
    for (size_t i = 0; i < count_; ++i) Fail(i, count_, Errno::kEOVERFLOW);
    return;
  }
  writer.Ensure(bytes + 2 * kHeadBytes);
  const auto kind =
      writer.Begin<kLengthWidth>(v1::ColumnGroupResult::kStatFieldNumber);
  arrays.Lay(writer);
  masks_.assign(count_, 0);
  uint32_t missing = 0;
  const auto done = [&](size_t i, const vfs::Statx& statx) {
    arrays.Set(i, statx);
    masks_[i] = statx.mask & wanted;
    missing |= wanted & ~statx.mask;
  };
  if (group.paths.has_value()) {
    ForEachPath(group, operation, done);
  } else if (group.files.has_value()) {
    operation.path = "";
    operation.flags |= abi::kAtEmptyPath;
    ForEachFile(group, [&](size_t i, vfs::Handle handle) {
      operation.dir = handle;
      RunOne(i, operation, done);
    });
  }
  for (size_t i = 0; i < errors_.size(); ++i) {
    if (errors_[i] != 0) arrays.Clear(i);
  }
  if (missing != 0) {
    PutColumn<uint32_t>(writer, v1::StatResultColumns::kMasksFieldNumber,
                        masks_);
  }
  writer.End<kLengthWidth>(kind);
}

void ColumnRunner::RunRead(const ColumnGroup& group, WireWriter& writer) {
  if (!group.files.has_value()) return;
  ends_.assign(count_, 0);
  vfs::ReadOperation operation;
  operation.offset = group.offset;
  writer.Ensure(2 * kHeadBytes);
  const auto kind =
      writer.Begin<kLengthWidth>(v1::ColumnGroupResult::kReadFieldNumber);
  const auto joined =
      writer.Begin<kLengthWidth>(v1::ReadResultColumns::kJoinedFieldNumber);
  // The arrays that follow, and what a read may take at most before it.
  const size_t arrays = count_ * 2 * sizeof(uint32_t) + 2 * kHeadBytes;
  ForEachFile(group, [&](size_t i, vfs::Handle handle) {
    const size_t used = writer.size() + arrays;
    if (used >= max_bytes_) return Fail(i, count_, Errno::kEOVERFLOW);
    operation.handle = handle;
    operation.buffer =
        writer.Prepare(0, std::min({size_t{group.size}, size_t{kMaxReadBytes},
                                    max_bytes_ - used}));
    RunOne(i, operation, [&](size_t, size_t read) {
      writer.Place(0, operation.buffer.first(read));
      writer.Skip(read);
      ends_[i] = static_cast<uint32_t>(read);
    });
  });
  // The lengths become where each ends.
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  writer.End<kLengthWidth>(joined);
  PutColumn<uint32_t>(writer, v1::ReadResultColumns::kEndsFieldNumber, ends_);
  writer.End<kLengthWidth>(kind);
}

}  // namespace vfsd::rpc
