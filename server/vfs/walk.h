// The path walk: from a path to what it names (the kernel's fs/namei.c).
//
// There is one algorithm (path_walk.h) with two sets of steps: lock-free ones
// under RCU (fast_steps.h), which take no references and may leave, and locked
// ones (locked_steps.h), which pin each inode on the way. Walker tries the
// first and falls back to the second; callers see only final answers.
//
// A Walker serves one operation on one thread. What it is given must outlive
// it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

#include "server/base/result.h"
#include "server/sync/rcu.h"
#include "server/vfs/credentials.h"
#include "server/vfs/operation.h"
#include "server/vfs/path.h"

namespace vfsd::vfs {

class FileTable;
class Session;
class Vfs;

// Bits of WalkRequest::flags.
enum WalkFlag : uint32_t {
  kWalkFollow = 1U << 0,  // follow a symbolic link at the end (LOOKUP_FOLLOW)
  kWalkDirectory = 1U << 1,  // the end must be a directory (LOOKUP_DIRECTORY)
  kWalkCreate = 1U << 2,     // for O_CREAT: a trailing slash is EISDIR
};

struct WalkRequest {
  Vfs& vfs;
  const Session& session;
  const Credentials& credentials;
  DirectoryArgument dir;
  std::string_view path;
  uint32_t flags = 0;
  uint64_t resolve = 0;  // RESOLVE_* of openat2(2)

  // Confined to what is below the starting directory.
  bool scoped() const {
    return (resolve &
            (linux_abi::kResolveBeneath | linux_abi::kResolveInRoot)) != 0;
  }
  bool forbids(uint64_t resolve_flag) const {
    return (resolve & resolve_flag) != 0;
  }
};

// What the last component of a path is (the kernel's LAST_*).
enum class LastType : uint8_t { kName, kDot, kDotDot, kRoot };

// The place where a change happens: a directory, and a name in it.
struct WalkParent {
  PinnedPath directory;
  LastType type = LastType::kRoot;
  std::string_view name;        // of kName; a view into the path
  bool trailing_slash = false;  // after the name
};

// getname(): what is wrong with a path before anything is looked up. EFAULT
// (absent), EINVAL (a NUL byte, which no C string can hold), ENAMETOOLONG,
// ENOENT (empty, unless `empty_allowed`).
Errno CheckPathArgument(const PathArgument& path, bool empty_allowed);

class Walker {
 public:
  explicit Walker(const WalkRequest& request) : request_(request) {}

  // What the path names, pinned.
  Result<PinnedPath> Resolve();

  // Calls visit(const PathView&) with what the path names, in an RCU read
  // section (without any reference) or pinned. Returns what visit returns.
  template <typename Visit>
    requires std::invocable<Visit&, const PathView&>
  auto Look(Visit&& visit) -> decltype(visit(PathView{})) {
    {
      const sync::RcuReadSection section;
      PathView view;
      const FastOutcome outcome = WalkFast(view);
      if (outcome.answered) {
        if (outcome.error != Errno::kOk) return Fail(outcome.error);
        return visit(view);
      }
    }
    const Result<PinnedPath> path = ResolveLocked();
    if (!path.has_value()) return Fail(path.error());
    return visit(path->view());
  }

  // The directory of the path's last component, which is not looked up. Search
  // permission on it is checked.
  Result<WalkParent> ResolveParent();

 private:
  struct FastOutcome {
    bool answered;  // false: the fast walk left
    Errno error;
  };
  // In an RCU read section.
  FastOutcome WalkFast(PathView& view);
  Result<PinnedPath> ResolveLocked();

  const WalkRequest& request_;
};

}  // namespace vfsd::vfs
