#include "client/lib/batch.h"

#include "client/lib/batch_operation.h"
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

}  // namespace

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
