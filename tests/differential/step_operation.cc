#include "tests/differential/step_operation.h"

#include <cstdlib>
#include <utility>

#include "server/vfs/linux_abi.h"

namespace vfsd::differential {
namespace {

vfs::PathArgument View(const PathText& path) {
  if (!path.has_value()) return std::nullopt;
  return *path;
}

vfs::TimeChange Time(const TimeArgument& argument) {
  switch (argument.kind) {
    case TimeArgument::Kind::kOmit:
      return {};
    case TimeArgument::Kind::kNow:
      return {.kind = vfs::TimeChange::Kind::kNow};
    case TimeArgument::Kind::kSet:
      return {.kind = vfs::TimeChange::Kind::kSet,
              .seconds = argument.seconds,
              .nanoseconds = argument.nanoseconds};
  }
  std::abort();
}

// Which attributes a step changes.
uint32_t ChangesOf(const Step& step) {
  switch (step.kind) {
    case Kind::kChangeMode:
      return kChangesMode;
    case Kind::kChangeOwner:
      return kChangesOwner;
    case Kind::kTruncate:
      return kChangesSize;
    case Kind::kSetTimes:
      return kChangesTimes;
    default:
      return step.changes;
  }
}

// Fills in the fields that many operations have under the same names.
class Filler {
 public:
  Filler(const Step& step, const HandleNumbers& handles)
      : step_(step), handles_(handles) {}

  template <typename T>
  T Make() const {
    T operation;
    if constexpr (requires { operation.dir; })
      operation.dir = handles_.Directory(step_.dir);
    if constexpr (requires { operation.path; })
      operation.path = View(step_.path);
    if constexpr (requires { operation.old_dir; }) {
      operation.old_dir = handles_.Directory(step_.dir);
      operation.old_path = View(step_.path);
      operation.new_dir = handles_.Directory(step_.dir2);
      operation.new_path = View(step_.path2);
    }
    if constexpr (requires { operation.handle; })
      operation.handle = handles_.Find(step_.dir);
    if constexpr (requires { operation.flags; }) operation.flags = step_.flags;
    if constexpr (requires { operation.mask; }) operation.mask = step_.mask;
    // Of SetAttributes it is optional.
    if constexpr (requires { operation.mode + 0U; })
      operation.mode = step_.mode;
    return operation;
  }

 private:
  const Step& step_;
  const HandleNumbers& handles_;
};

vfs::SetAttributesOperation SetAttributes(vfs::SetAttributesOperation operation,
                                          const Step& step) {
  const uint32_t changes = ChangesOf(step);
  if ((changes & kChangesMode) != 0) operation.mode = step.mode;
  if ((changes & kChangesOwner) != 0) {
    operation.changes_owner = true;
    if (step.uid != kUnchanged) operation.uid = step.uid;
    if (step.gid != kUnchanged) operation.gid = step.gid;
  }
  if ((changes & kChangesSize) != 0) operation.size = step.size;
  if ((changes & kChangesTimes) != 0) {
    operation.atime = Time(step.atime);
    operation.mtime = Time(step.mtime);
  }
  return operation;
}

}  // namespace

vfs::Handle HandleNumbers::Find(int number) const {
  const auto it = handles_.find(number);
  return it == handles_.end() ? 0 : it->second;
}

vfs::DirectoryArgument HandleNumbers::Directory(int number) const {
  if (number == kCwd) return std::nullopt;
  return Find(number);
}

std::optional<vfs::Handle> HandleNumbers::Set(int number, vfs::Handle handle) {
  const auto [it, is_new] = handles_.try_emplace(number, handle);
  if (is_new) return std::nullopt;
  return std::exchange(it->second, handle);
}

bool ChangesMounts(Kind kind) {
  return kind == Kind::kMount || kind == Kind::kBind ||
         kind == Kind::kUnmount || kind == Kind::kRemount;
}

Operation ToOperation(const Step& step, const HandleNumbers& handles,
                      std::span<char> read_buffer) {
  const Filler filler(step, handles);
  switch (step.kind) {
    case Kind::kOpen:
      return filler.Make<vfs::OpenOperation>();
    case Kind::kOpenHow: {
      auto operation = filler.Make<vfs::OpenOperation>();
      operation.resolve = step.resolve;
      return operation;
    }
    case Kind::kClose:
      return filler.Make<vfs::CloseOperation>();
    case Kind::kStat:
      return filler.Make<vfs::StatOperation>();
    case Kind::kAccess:
      return filler.Make<vfs::AccessOperation>();
    case Kind::kRead: {
      auto operation = filler.Make<vfs::ReadOperation>();
      operation.offset = step.offset;
      operation.buffer = read_buffer;
      return operation;
    }
    case Kind::kReadDirectory: {
      auto operation = filler.Make<vfs::ReadDirectoryOperation>();
      operation.page_size = static_cast<uint32_t>(step.size);
      operation.with_attributes = step.mask != 0;
      return operation;
    }
    case Kind::kReadLink:
      return filler.Make<vfs::ReadLinkOperation>();
    case Kind::kMakeDirectory:
      return filler.Make<vfs::MakeDirectoryOperation>();
    case Kind::kMakeNode: {
      auto operation = filler.Make<vfs::MakeNodeOperation>();
      operation.device =
          vfs::linux_abi::MakeDevice(step.device_major, step.device_minor);
      return operation;
    }
    case Kind::kMakeSymlink: {
      auto operation = filler.Make<vfs::MakeSymlinkOperation>();
      operation.target = View(step.path2);
      return operation;
    }
    case Kind::kMakeLink:
      return filler.Make<vfs::MakeLinkOperation>();
    case Kind::kUnlink:
      return filler.Make<vfs::UnlinkOperation>();
    case Kind::kRename:
      return filler.Make<vfs::RenameOperation>();
    case Kind::kChangeMode:
    case Kind::kChangeOwner:
    case Kind::kTruncate:
    case Kind::kSetTimes:
    case Kind::kSetAttributes:
      return SetAttributes(filler.Make<vfs::SetAttributesOperation>(), step);
    case Kind::kStatFileSystem:
      return filler.Make<vfs::StatFilesystemOperation>();
    case Kind::kMount:
    case Kind::kBind:
    case Kind::kUnmount:
    case Kind::kRemount:
      break;
  }
  std::abort();
}

}  // namespace vfsd::differential
