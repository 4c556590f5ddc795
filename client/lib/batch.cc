#include "client/lib/batch.h"

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
  using Kind = vfs::v1::BatchOperation;
  switch (operation->kind_case()) {
    case Kind::kOpen:
      return SetDirectory(file, operation->mutable_open());
    case Kind::kClose:
      return SetTarget(file, operation->mutable_close());
    case Kind::kStat:
      return SetDirectory(file, operation->mutable_stat());
    case Kind::kAccess:
      return SetDirectory(file, operation->mutable_access());
    case Kind::kRead:
      return SetTarget(file, operation->mutable_read());
    case Kind::kReadDirectory:
      return SetDirectory(file, operation->mutable_read_directory());
    case Kind::kMakeDirectory:
      return SetDirectory(file, operation->mutable_make_directory());
    case Kind::kUnlink:
      return SetDirectory(file, operation->mutable_unlink());
    case Kind::kRename: {
      auto* rename = operation->mutable_rename();
      if (const auto* handle = std::get_if<Handle>(&file)) {
        rename->set_old_dir_handle(handle->value);
        rename->set_new_dir_handle(handle->value);
      } else {
        const uint32_t index = std::get<OperationIndex>(file).value;
        rename->set_old_dir_operation(index);
        rename->set_new_dir_operation(index);
      }
      return;
    }
    case Kind::KIND_NOT_SET:
      return;
  }
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
