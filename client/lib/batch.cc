#include "client/lib/batch.h"

#include "client/lib/batch_operation.h"
#include "client/lib/columns.h"
#include "client/lib/path.h"

namespace vfsclient {
namespace {

template <class Request>
void SetTarget(FileReference file, Request* request) {
  if (const auto* handle = std::get_if<Handle>(&file)) {
    request->set_handle(handle->value);
  } else {
    request->set_handle_operation(std::get<OperationIndex>(file).value);
  }
}

template <class Request>
void SetDirectory(FileReference file, Request* request) {
  if (const auto* handle = std::get_if<Handle>(&file)) {
    request->set_dir_handle(handle->value);
  } else {
    request->set_dir_operation(std::get<OperationIndex>(file).value);
  }
}

void SetPaths(std::span<const std::string_view> paths,
              vfs::v1::PathColumn* column) {
  for (const std::string_view path : paths) AppendPath(path, column);
}

void SetFiles(FilesReference files, vfs::v1::HandleColumn* column) {
  if (const auto* opener = std::get_if<GroupIndex>(&files)) {
    column->set_group(opener->value);
    return;
  }
  for (const Handle handle : std::get<std::span<const Handle>>(files))
    column->add_handles(handle.value);
}

}  // namespace

GroupIndex Batch::OpenAll(std::span<const std::string_view> paths,
                          uint32_t flags, uint32_t mode) {
  vfs::v1::OpenColumns* open = request_.add_groups()->mutable_open();
  SetPaths(paths, open->mutable_paths());
  open->set_flags(flags);
  open->set_mode(mode);
  return LastGroup();
}

GroupIndex Batch::CloseAll(FilesReference files) {
  SetFiles(files, request_.add_groups()->mutable_close()->mutable_files());
  return LastGroup();
}

GroupIndex Batch::StatAll(std::span<const std::string_view> paths,
                          uint32_t mask, uint32_t flags) {
  vfs::v1::StatColumns* stat = request_.add_groups()->mutable_stat();
  SetPaths(paths, stat->mutable_paths());
  stat->set_mask(mask);
  stat->set_flags(flags);
  return LastGroup();
}

GroupIndex Batch::StatAll(FilesReference files, uint32_t mask) {
  vfs::v1::StatColumns* stat = request_.add_groups()->mutable_stat();
  SetFiles(files, stat->mutable_files());
  stat->set_mask(mask);
  return LastGroup();
}

GroupIndex Batch::AccessAll(std::span<const std::string_view> paths,
                            uint32_t mode) {
  vfs::v1::AccessColumns* access = request_.add_groups()->mutable_access();
  SetPaths(paths, access->mutable_paths());
  access->set_mode(mode);
  return LastGroup();
}

GroupIndex Batch::ReadAll(FilesReference files, int64_t offset, uint32_t size) {
  vfs::v1::ReadColumns* read = request_.add_groups()->mutable_read();
  SetFiles(files, read->mutable_files());
  read->set_offset(offset);
  read->set_size(size);
  return LastGroup();
}

void SetFile(FileReference file, vfs::v1::BatchOperation* operation) {
  VisitRequest(operation, [file](auto* request) {
    const auto set = [file](auto set_handle, auto set_operation) {
      if (const auto* handle = std::get_if<Handle>(&file)) {
        set_handle(handle->value);
      } else {
        set_operation(std::get<OperationIndex>(file).value);
      }
    };
    // What the request has of these: a target, a directory, or two of them.
    if constexpr (requires { request->set_handle(0); }) {
      set([=](uint64_t handle) { request->set_handle(handle); },
          [=](uint32_t index) { request->set_handle_operation(index); });
    } else if constexpr (requires { request->set_dir_handle(0); }) {
      set([=](uint64_t handle) { request->set_dir_handle(handle); },
          [=](uint32_t index) { request->set_dir_operation(index); });
    } else {
      set(
          [=](uint64_t handle) {
            request->set_old_dir_handle(handle);
            request->set_new_dir_handle(handle);
          },
          [=](uint32_t index) {
            request->set_old_dir_operation(index);
            request->set_new_dir_operation(index);
          });
    }
  });
}

OperationIndex Batch::Open(std::string_view path, uint32_t flags,
                           uint32_t mode) {
  auto* open = request_.add_operations()->mutable_open();
  SetPath(path, open);
  open->set_flags(flags);
  open->set_mode(mode);
  return Last();
}

OperationIndex Batch::Close(FileReference file) {
  SetTarget(file, request_.add_operations()->mutable_close());
  return Last();
}

OperationIndex Batch::Stat(std::string_view path, uint32_t flags) {
  auto* stat = request_.add_operations()->mutable_stat();
  SetPath(path, stat);
  stat->set_flags(flags);
  stat->set_mask(vfs::v1::STATX_MASK_BASIC_STATS);
  return Last();
}

OperationIndex Batch::Stat(FileReference file) {
  auto* stat = request_.add_operations()->mutable_stat();
  SetDirectory(file, stat);
  stat->set_path("");
  stat->set_flags(vfs::v1::AT_FLAG_AT_EMPTY_PATH);
  stat->set_mask(vfs::v1::STATX_MASK_BASIC_STATS);
  return Last();
}

OperationIndex Batch::Access(std::string_view path, uint32_t mode) {
  auto* access = request_.add_operations()->mutable_access();
  SetPath(path, access);
  access->set_mode(mode);
  return Last();
}

OperationIndex Batch::Read(FileReference file, int64_t offset, uint32_t size) {
  auto* read = request_.add_operations()->mutable_read();
  SetTarget(file, read);
  read->set_offset(offset);
  read->set_size(size);
  return Last();
}

OperationIndex Batch::ReadDirectory(FileReference directory) {
  SetDirectory(directory, request_.add_operations()->mutable_read_directory());
  return Last();
}

OperationIndex Batch::MakeDirectory(std::string_view path, uint32_t mode) {
  auto* make = request_.add_operations()->mutable_make_directory();
  SetPath(path, make);
  make->set_mode(mode);
  return Last();
}

OperationIndex Batch::Unlink(std::string_view path, uint32_t flags) {
  auto* unlink = request_.add_operations()->mutable_unlink();
  SetPath(path, unlink);
  unlink->set_flags(flags);
  return Last();
}

OperationIndex Batch::Rename(std::string_view old_path,
                             std::string_view new_path, uint32_t flags) {
  auto* rename = request_.add_operations()->mutable_rename();
  SetOldPath(old_path, rename);
  SetNewPath(new_path, rename);
  rename->set_flags(flags);
  return Last();
}

OperationIndex Batch::Add(const vfs::v1::BatchOperation& operation) {
  *request_.add_operations() = operation;
  return Last();
}

}  // namespace vfsclient
