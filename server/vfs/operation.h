// The operations that the core offers, as plain values over non-owning views:
// what a system call's arguments are to the kernel. Everything that asks the
// core something (unary calls, batches, tests, fuzzers, benchmarks) makes one
// of these and gives it to the Executor.
//
// Views (paths, buffers) must stay valid until Execute returns. Flags, modes
// and masks are Linux's (linux_abi.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/base/timestamp.h"

namespace vfsd::vfs {

// A session's name for an open file, opaque to clients; 0 is never one.
using Handle = uint64_t;

// The directory that a relative path starts at: an open file's handle, or
// nothing (AT_FDCWD), which is the session's root.
using DirectoryArgument = std::optional<Handle>;

// A path. Absent is C's NULL; present and empty is "". Any bytes.
using PathArgument = std::optional<std::string_view>;

// Which operation: the index of per-operation counters, and their label.
enum class OperationKind : uint8_t {
  kOpen,
  kClose,
  kStat,
  kAccess,
  kRead,
  kReadDirectory,
  kMakeDirectory,
  kUnlink,
  kRename,
  kMakeNode,
  kMakeSymlink,
  kMakeLink,
  kReadLink,
  kSetAttributes,
  kStatFilesystem,
};
inline constexpr size_t kOperationKindCount = 15;

// "open", "close", "stat", "access", "read", "readdir", "mkdir", "unlink",
// "rename", "mknod", "symlink", "link", "readlink", "setattr", "statfs".
std::string_view OperationKindName(OperationKind kind);

// What a success without a result answers.
struct Done {};

// struct statx (statx(2)); `mask` says which fields are valid.
struct Statx {
  uint32_t mask = 0;
  uint32_t blksize = 0;
  uint64_t attributes = 0;
  uint64_t attributes_mask = 0;
  uint32_t nlink = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t mode = 0;
  uint64_t ino = 0;
  uint64_t size = 0;
  uint64_t blocks = 0;
  Timestamp atime;
  Timestamp btime;
  Timestamp ctime;
  Timestamp mtime;
  uint32_t rdev_major = 0;
  uint32_t rdev_minor = 0;
  uint32_t dev_major = 0;
  uint32_t dev_minor = 0;
  uint64_t mnt_id = 0;
  uint32_t dio_mem_align = 0;
  uint32_t dio_offset_align = 0;
};

// openat(2); with `resolve`, openat2(2), which is strict about flags and mode.
struct OpenOperation {
  static constexpr OperationKind kKind = OperationKind::kOpen;
  using Result = Handle;
  DirectoryArgument dir;
  PathArgument path;
  uint32_t flags = 0;
  uint32_t mode = 0;
  std::optional<uint64_t> resolve;  // RESOLVE_*
  uint64_t request_id = 0;
};

// close(2).
struct CloseOperation {
  static constexpr OperationKind kKind = OperationKind::kClose;
  using Result = Done;
  Handle handle = 0;
};

// statx(2).
struct StatOperation {
  static constexpr OperationKind kKind = OperationKind::kStat;
  using Result = Statx;
  DirectoryArgument dir;
  PathArgument path;
  uint32_t flags = 0;
  uint32_t mask = 0;
};

// faccessat2(2).
struct AccessOperation {
  static constexpr OperationKind kKind = OperationKind::kAccess;
  using Result = Done;
  DirectoryArgument dir;
  PathArgument path;
  uint32_t mode = 0;
  uint32_t flags = 0;
};

// pread(2): fills `buffer` from its start; the result is how many bytes.
struct ReadOperation {
  static constexpr OperationKind kKind = OperationKind::kRead;
  using Result = size_t;
  Handle handle = 0;
  int64_t offset = 0;
  std::span<char> buffer;
};

// A name in a directory (getdents64(2)).
struct DirectoryEntry {
  std::string name;
  uint64_t ino = 0;
  uint8_t type = 0;  // DT_*
  Statx attributes;  // with ReadDirectoryOperation::with_attributes
};

// A page of a directory.
struct DirectoryPage {
  std::vector<DirectoryEntry> entries;
  uint64_t next_cursor = 0;  // 0: no further entry
};

// getdents64(2) from a cursor on; opens the directory first if there is a path.
struct ReadDirectoryOperation {
  static constexpr OperationKind kKind = OperationKind::kReadDirectory;
  using Result = DirectoryPage;
  DirectoryArgument dir;
  PathArgument path;
  uint64_t cursor = 0;
  uint32_t page_size = 0;  // 1 to 10,000
  bool with_attributes = false;
  uint32_t mask = 0;
};

// mkdirat(2).
struct MakeDirectoryOperation {
  static constexpr OperationKind kKind = OperationKind::kMakeDirectory;
  using Result = Done;
  DirectoryArgument dir;
  PathArgument path;
  uint32_t mode = 0;
  uint64_t request_id = 0;
};

// unlinkat(2).
struct UnlinkOperation {
  static constexpr OperationKind kKind = OperationKind::kUnlink;
  using Result = Done;
  DirectoryArgument dir;
  PathArgument path;
  uint32_t flags = 0;
  uint64_t request_id = 0;
};

// renameat2(2).
struct RenameOperation {
  static constexpr OperationKind kKind = OperationKind::kRename;
  using Result = Done;
  DirectoryArgument old_dir;
  PathArgument old_path;
  DirectoryArgument new_dir;
  PathArgument new_path;
  uint32_t flags = 0;
  uint64_t request_id = 0;
};

// mknodat(2): a regular file, fifo, socket or device node.
struct MakeNodeOperation {
  static constexpr OperationKind kKind = OperationKind::kMakeNode;
  using Result = Done;
  DirectoryArgument dir;
  PathArgument path;
  uint32_t mode = 0;    // type (none: a regular file) and permissions
  uint64_t device = 0;  // of a device node: linux_abi::MakeDevice
  uint64_t request_id = 0;
};

// symlinkat(2).
struct MakeSymlinkOperation {
  static constexpr OperationKind kKind = OperationKind::kMakeSymlink;
  using Result = Done;
  PathArgument target;
  DirectoryArgument dir;
  PathArgument path;
  uint64_t request_id = 0;
};

// linkat(2).
struct MakeLinkOperation {
  static constexpr OperationKind kKind = OperationKind::kMakeLink;
  using Result = Done;
  DirectoryArgument old_dir;
  PathArgument old_path;
  DirectoryArgument new_dir;
  PathArgument new_path;
  uint32_t flags = 0;
  uint64_t request_id = 0;
};

// readlinkat(2). The whole target.
struct ReadLinkOperation {
  static constexpr OperationKind kKind = OperationKind::kReadLink;
  using Result = std::string;
  DirectoryArgument dir;
  PathArgument path;
};

// What becomes of a time (utimensat(2)).
struct TimeChange {
  enum class Kind : uint8_t { kOmit, kNow, kSet };
  Kind kind = Kind::kOmit;
  // Of kSet: since the epoch; nanoseconds of a billion and more are EINVAL.
  int64_t seconds = 0;
  uint32_t nanoseconds = 0;
};

// chmod(2), chown(2), truncate(2) and utimensat(2), one or several of them at
// once: all are checked before any is applied. A handle without a path and
// without AT_EMPTY_PATH is the f-form (fchmod(2) and its like).
struct SetAttributesOperation {
  static constexpr OperationKind kKind = OperationKind::kSetAttributes;
  using Result = Done;
  DirectoryArgument dir;
  PathArgument path;
  uint32_t flags = 0;
  std::optional<uint32_t> mode;
  // A chown: of either, both, or (which has effects of its own) neither.
  bool changes_owner = false;
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  std::optional<int64_t> size;
  TimeChange atime;
  TimeChange mtime;
  uint64_t request_id = 0;
};

// struct statfs (statfs(2)), as far as a file system without storage has it.
struct Statfs {
  uint64_t type = 0;  // the magic number
  uint32_t block_size = 0;
  uint64_t files = 0;  // inodes in use
  uint32_t name_max = 0;
  uint32_t flags = 0;  // ST_*
  uint32_t dev_major = 0;
  uint32_t dev_minor = 0;
};

// statfs(2) by path, fstatfs(2) by handle.
struct StatFilesystemOperation {
  static constexpr OperationKind kKind = OperationKind::kStatFilesystem;
  using Result = Statfs;
  DirectoryArgument dir;
  PathArgument path;
};

}  // namespace vfsd::vfs
