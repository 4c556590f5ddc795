#include "client/lib/columns.h"

#include "client/lib/batch_operation.h"

namespace vfsclient {
namespace {

using vfs::v1::BatchOperation;
using vfs::v1::ColumnGroup;

constexpr uint32_t kAtEmptyPath = 0x1000;

// The operation's path; nothing where it has none.
template <class Request>
std::optional<std::string_view> PathOf(const Request& request) {
  if (request.has_path()) return request.path();
  if (request.has_raw_path()) return request.raw_path();
  return std::nullopt;
}

// The group's columns of that kind; nullptr if it has another. A new group's
// columns are `shared`, what all of its operations have in common; an old one's
// must have the same.
template <class Columns>
bool Agree(const Columns& shared, bool is_new, Columns* columns) {
  if (is_new) {
    *columns = shared;
    return true;
  }
  const auto same_directory = [&] {
    if constexpr (requires { shared.dir_handle(); }) {
      return shared.has_dir_handle() == columns->has_dir_handle() &&
             shared.dir_handle() == columns->dir_handle();
    } else {
      return true;
    }
  };
  const auto same = [&](auto get) {
    if constexpr (requires { get(shared); }) {
      return get(shared) == get(*columns);
    } else {
      return true;
    }
  };
  return same_directory() &&
         same([](const auto& c) -> decltype(c.flags()) { return c.flags(); }) &&
         same([](const auto& c) -> decltype(c.mode()) { return c.mode(); }) &&
         same([](const auto& c) -> decltype(c.mask()) { return c.mask(); }) &&
         same([](const auto& c) -> decltype(c.unmasked_fields()) {
           return c.unmasked_fields();
         }) &&
         same([](const auto& c) -> decltype(c.offset()) {
           return c.offset();
         }) &&
         same([](const auto& c) -> decltype(c.size()) { return c.size(); });
}

// Adds a file: the next one of the opener's, or a handle.
bool AppendFile(std::optional<uint32_t> opener, bool has_handle,
                uint64_t handle, bool is_new, vfs::v1::HandleColumn* files) {
  if (opener.has_value()) {
    if (files->handles_size() > 0) return false;
    if (!is_new && (!files->has_group() || files->group() != *opener))
      return false;
    files->set_group(*opener);
    return true;
  }
  if (!has_handle || files->has_group()) return false;
  files->add_handles(handle);
  return true;
}

template <class Request, class Columns>
bool CopyDirectory(const Request& request, Columns* shared) {
  if (request.has_dir_operation() || request.has_credentials()) return false;
  if (request.has_dir_handle()) shared->set_dir_handle(request.dir_handle());
  return true;
}

bool Append(const vfs::v1::OpenRequest& request, bool is_new,
            std::optional<uint32_t> opener, ColumnGroup* group) {
  const auto path = PathOf(request);
  vfs::v1::OpenColumns shared;
  if (!path || opener || request.has_resolve() || request.request_id() != 0 ||
      !CopyDirectory(request, &shared)) {
    return false;
  }
  shared.set_flags(request.flags());
  shared.set_mode(request.mode());
  if (!Agree(shared, is_new, group->mutable_open())) return false;
  AppendPath(*path, group->mutable_open()->mutable_paths());
  return true;
}

bool Append(const vfs::v1::CloseRequest& request, bool is_new,
            std::optional<uint32_t> opener, ColumnGroup* group) {
  return AppendFile(opener, request.has_handle(), request.handle(), is_new,
                    group->mutable_close()->mutable_files());
}

bool Append(const vfs::v1::StatRequest& request, bool is_new,
            std::optional<uint32_t> opener, ColumnGroup* group) {
  vfs::v1::StatColumns shared;
  shared.set_flags(request.flags());
  shared.set_mask(request.mask());
  const auto path = PathOf(request);
  const bool by_file = path.value_or("").empty() &&
                       (request.flags() & kAtEmptyPath) != 0 &&
                       (opener || request.has_dir_handle());
  if (by_file) {
    if (request.has_credentials() ||
        !Agree(shared, is_new, group->mutable_stat()) ||
        group->stat().has_paths()) {
      return false;
    }
    return AppendFile(opener, request.has_dir_handle(), request.dir_handle(),
                      is_new, group->mutable_stat()->mutable_files());
  }
  if (!path || opener || !CopyDirectory(request, &shared) ||
      !Agree(shared, is_new, group->mutable_stat()) ||
      group->stat().has_files()) {
    return false;
  }
  AppendPath(*path, group->mutable_stat()->mutable_paths());
  return true;
}

bool Append(const vfs::v1::AccessRequest& request, bool is_new,
            std::optional<uint32_t> opener, ColumnGroup* group) {
  const auto path = PathOf(request);
  vfs::v1::AccessColumns shared;
  if (!path || opener || !CopyDirectory(request, &shared)) return false;
  shared.set_flags(request.flags());
  shared.set_mode(request.mode());
  if (!Agree(shared, is_new, group->mutable_access())) return false;
  AppendPath(*path, group->mutable_access()->mutable_paths());
  return true;
}

bool Append(const vfs::v1::ReadRequest& request, bool is_new,
            std::optional<uint32_t> opener, ColumnGroup* group) {
  vfs::v1::ReadColumns shared;
  shared.set_offset(request.offset());
  shared.set_size(request.size());
  if (!Agree(shared, is_new, group->mutable_read())) return false;
  return AppendFile(opener, request.has_handle(), request.handle(), is_new,
                    group->mutable_read()->mutable_files());
}

// The row of a file's attributes.
void SetStat(const vfs::v1::StatResultColumns& columns, int i,
             uint32_t wanted_mask, vfs::v1::StatResponse* row) {
  row->set_mask(i < columns.masks_size() ? columns.masks(i) : wanted_mask);
#define VFSCLIENT_COLUMN(field) \
  if (i < columns.field##_size()) row->set_##field(columns.field(i));
  VFSCLIENT_COLUMN(blksize)
  VFSCLIENT_COLUMN(attributes)
  VFSCLIENT_COLUMN(attributes_mask)
  VFSCLIENT_COLUMN(nlink)
  VFSCLIENT_COLUMN(uid)
  VFSCLIENT_COLUMN(gid)
  VFSCLIENT_COLUMN(mode)
  VFSCLIENT_COLUMN(ino)
  VFSCLIENT_COLUMN(size)
  VFSCLIENT_COLUMN(blocks)
  VFSCLIENT_COLUMN(atime_seconds)
  VFSCLIENT_COLUMN(atime_nanoseconds)
  VFSCLIENT_COLUMN(btime_seconds)
  VFSCLIENT_COLUMN(btime_nanoseconds)
  VFSCLIENT_COLUMN(ctime_seconds)
  VFSCLIENT_COLUMN(ctime_nanoseconds)
  VFSCLIENT_COLUMN(mtime_seconds)
  VFSCLIENT_COLUMN(mtime_nanoseconds)
  VFSCLIENT_COLUMN(rdev_major)
  VFSCLIENT_COLUMN(rdev_minor)
  VFSCLIENT_COLUMN(dev_major)
  VFSCLIENT_COLUMN(dev_minor)
  VFSCLIENT_COLUMN(mnt_id)
  VFSCLIENT_COLUMN(dio_mem_align)
  VFSCLIENT_COLUMN(dio_offset_align)
#undef VFSCLIENT_COLUMN
}

}  // namespace

void AppendPath(std::string_view path, vfs::v1::PathColumn* paths) {
  std::string& joined = *paths->mutable_joined();
  joined += path;
  paths->add_ends(static_cast<uint32_t>(joined.size()));
}

bool AppendOperation(const BatchOperation& operation,
                     std::optional<uint32_t> opener, ColumnGroup* group) {
  const bool is_new = group->kind_case() == ColumnGroup::KIND_NOT_SET;
  // The kinds have the same numbers in both.
  if (!is_new && static_cast<int>(group->kind_case()) !=
                     static_cast<int>(operation.kind_case())) {
    return false;
  }
  switch (operation.kind_case()) {
    case BatchOperation::kOpen:
      return Append(operation.open(), is_new, opener, group);
    case BatchOperation::kClose:
      return Append(operation.close(), is_new, opener, group);
    case BatchOperation::kStat:
      return Append(operation.stat(), is_new, opener, group);
    case BatchOperation::kAccess:
      return Append(operation.access(), is_new, opener, group);
    case BatchOperation::kRead:
      return Append(operation.read(), is_new, opener, group);
    default:
      return false;
  }
}

void AppendRows(
    const vfs::v1::ColumnGroupResult& group, uint32_t wanted_mask,
    google::protobuf::RepeatedPtrField<vfs::v1::BatchResult>* rows) {
  uint32_t read_begin = 0;
  for (int i = 0; i < static_cast<int>(group.count()); ++i) {
    vfs::v1::BatchResult& row = *rows->Add();
    const int error = i < group.errno_codes_size()
                          ? static_cast<int>(group.errno_codes(i))
                          : 0;
    const uint32_t read_end =
        i < group.read().ends_size() ? group.read().ends(i) : read_begin;
    row.set_errno_code(error);
    if (error == 0 && group.has_open() && i < group.open().handles_size()) {
      row.mutable_open()->set_handle(group.open().handles(i));
    } else if (error == 0 && group.has_stat()) {
      SetStat(group.stat(), i, wanted_mask, row.mutable_stat());
    } else if (error == 0 && group.has_read() && read_begin <= read_end &&
               read_end <= group.read().joined().size()) {
      row.mutable_read()->set_data(group.read().joined().data() + read_begin,
                                   read_end - read_begin);
    }
    read_begin = read_end;
  }
}

}  // namespace vfsclient
