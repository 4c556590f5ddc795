// The core's operation that a step is: one table for all runners of vfsd, in
// the process or behind the wire.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <variant>

#include "server/vfs/operation.h"
#include "tests/differential/program.h"

namespace vfsd::differential {

using Operation =
    std::variant<vfs::OpenOperation, vfs::CloseOperation, vfs::StatOperation,
                 vfs::AccessOperation, vfs::ReadOperation,
                 vfs::ReadDirectoryOperation, vfs::MakeDirectoryOperation,
                 vfs::UnlinkOperation, vfs::RenameOperation,
                 vfs::MakeNodeOperation, vfs::MakeSymlinkOperation,
                 vfs::MakeLinkOperation, vfs::ReadLinkOperation,
                 vfs::SetAttributesOperation, vfs::StatFilesystemOperation>;

// A program's numbers for its handles.
class HandleNumbers {
 public:
  // 0, which is no handle, for a number that was never given.
  vfs::Handle Find(int number) const;
  vfs::DirectoryArgument Directory(int number) const;
  // The number's earlier handle, which the later one takes it from.
  std::optional<vfs::Handle> Set(int number, vfs::Handle handle);
  void Clear() { handles_.clear(); }
  std::map<int, vfs::Handle>& all() { return handles_; }

 private:
  std::map<int, vfs::Handle> handles_;
};

// What changes mounts is the administrator's, and no operation.
bool ChangesMounts(Kind kind);

// REQUIRES: !ChangesMounts(step.kind). Views into `step` and `read_buffer`,
// which must hold step.size bytes for a read.
Operation ToOperation(const Step& step, const HandleNumbers& handles,
                      std::span<char> read_buffer);

}  // namespace vfsd::differential
