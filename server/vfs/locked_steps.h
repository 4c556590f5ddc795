// The locked steps of a walk: each position is pinned, and each name is looked
// up with its directory's mutex held (shared), so that what changes the
// directory waits or is waited for. They always answer.
#pragma once

#include <string_view>
#include <thread>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/path_walk.h"
#include "server/vfs/session.h"

namespace vfsd::vfs {

class LockedSteps {
 public:
  LockedSteps() = default;
  LockedSteps(const LockedSteps&) = delete;
  LockedSteps& operator=(const LockedSteps&) = delete;

  StepOutcome Start(const WalkRequest& request, bool absolute) {
    request_ = &request;
    root_ = request.session.root();
    if (absolute || !request.dir.has_value()) return JumpToRoot();
    Result<PinnedPath> path =
        request.session.files().PinPath(*request.dir, /*also_path_only=*/true);
    if (!path.has_value()) return path.error();
    here_ = std::move(*path);
    if (request.scoped()) {
      scope_ = PinnedPath::Share(here_.view());
      root_ = scope_.view();
    }
    return StepOutcome::Ok();
  }

  // Looks at every component.
  void SkipPrefix(std::string_view&) {}
  void RememberPrefix() {}

  const PathView& root() const { return root_; }

  const PathView& here() const { return here_.view(); }
  const PathView& next() const { return next_.view(); }
  void TakeNext() { here_ = std::move(next_); }
  // The position, to keep.
  PinnedPath TakeHere() { return std::move(here_); }

  StepOutcome CheckHere() {
    const Inode& directory = here_.inode();
    // A change of mode and owner is seen whole or not at all; who changes them
    // waits for nothing that we hold.
    for (;;) {
      const uint32_t begin = directory.walk_lock.ReadBeginEven();
      const Errno error = CheckSearch(request_->credentials, directory);
      if (directory.walk_lock.ReadValid(begin)) return error;
    }
  }

  StepOutcome Child(std::string_view name) {
    const StepOutcome outcome = CheckHere();
    if (!outcome.ok()) return outcome;
    absl::ReaderMutexLock lock(&here_.inode().directory().mu);
    return ChildLocked(name);
  }

  // REQUIRES: the mutex of here()'s directory, at least shared.
  StepOutcome ChildLocked(std::string_view name) {
    Inode& directory = here_.inode();
    if (directory.HasFlag(kInodeDead)) return Errno::kENOENT;
    if (name.size() > linux_abi::kNameMax) return Errno::kENAMETOOLONG;
    const Dentry* const dentry =
        FindName(here_.mount().file_system(), directory, name);
    if (dentry == nullptr) return Errno::kENOENT;
    next_ = PinnedPath::Share({&here_.mount(), &dentry->inode()});
    return StepOutcome::Ok();
  }

  StepOutcome CrossMounts() {
    while (next_.inode().HasFlag(kInodeMountPoint)) {
      PinnedPath crossed;
      {
        const sync::RcuReadSection section;
        Mount* const child =
            request_->vfs.mounts.FindChild(&next_.mount(), &next_.inode());
        if (child == nullptr) break;
        crossed = PinnedPath::TryShare({child, child->root()});
      }
      // Not there: it is being unmounted; look again when that is decided.
      if (crossed) {
        next_ = std::move(crossed);
      } else {
        std::this_thread::yield();
      }
    }
    return StepOutcome::Ok();
  }

  StepOutcome Up() {
    const StepOutcome outcome = CheckHere();
    if (!outcome.ok()) return outcome;
    for (;;) {
      {
        const sync::RcuReadSection section;
        const PathView up = Above(here_.view());
        // here() keeps its mount, also where that is detached; another one may
        // be going. A directory holds its parent, which can only be exchanged.
        next_ = up.mount == &here_.mount() ? PinnedPath::TryShareInode(up)
                                           : PinnedPath::TryShare(up);
        if (next_) return StepOutcome::Ok();
      }
      // The parent was exchanged for another, or a mount on the way is being
      // unmounted: look again when that is decided.
      std::this_thread::yield();
    }
  }

  StepOutcome JumpToRoot() {
    here_ = PinnedPath::Share(root_);
    return StepOutcome::Ok();
  }

  void KeepLink() { links_.push_back(std::move(next_)); }

 private:
  // "..": out of the roots of mounts, but never out of the walk's root. In an
  // RCU read section.
  PathView Above(PathView at) const {
    for (;;) {
      if (at == root_) return at;
      if (at.inode != at.mount->root())
        return {at.mount, at.inode->directory().parent()};
      Mount* const above = at.mount->above();
      if (above == nullptr) return at;
      at = {above, at.mount->mountpoint()};
    }
  }

  const WalkRequest* request_ = nullptr;
  // The session's root, which the session pins, or scope_.
  PathView root_;
  PinnedPath scope_;
  PinnedPath here_;
  PinnedPath next_;
  // Links whose targets are being walked.
  absl::InlinedVector<PinnedPath, 2> links_;
};

}  // namespace vfsd::vfs
