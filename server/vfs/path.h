// Where a walk arrives: an inode in a mount.
//
// PathView is a look at one, valid in an RCU read section or as long as
// somebody pins it. PinnedPath holds one reference to each part and is moved,
// never copied: what consumes it owns the references from then on, which is
// what the open-consume fast path is about.
#pragma once

#include <utility>

#include "server/vfs/inode.h"
#include "server/vfs/mount.h"

namespace vfsd::vfs {

struct PathView {
  Mount* mount = nullptr;
  Inode* inode = nullptr;

  friend bool operator==(const PathView&, const PathView&) = default;
};

class PinnedPath {
 public:
  PinnedPath() = default;
  // path_get(): references of its own; the caller's keep both meanwhile.
  static PinnedPath Share(const PathView& view) {
    view.mount->Get();
    view.inode->references.Get();
    return PinnedPath(view);
  }
  // In an RCU read section (legitimize_path()): empty if either part is going.
  static PinnedPath TryShare(const PathView& view) {
    if (!view.mount->TryGet()) return {};
    if (!view.inode->references.GetUnlessZero()) {
      view.mount->Put();
      return {};
    }
    return PinnedPath(view);
  }
  // In an RCU read section, for a mount that the caller has a reference to:
  // empty if the inode is going.
  static PinnedPath TryShareInode(const PathView& view) {
    if (!view.inode->references.GetUnlessZero()) return {};
    view.mount->Get();
    return PinnedPath(view);
  }
  PinnedPath(PinnedPath&& other) noexcept
      : view_(std::exchange(other.view_, {})) {}
  PinnedPath& operator=(PinnedPath&& other) noexcept {
    if (this != &other) {
      Reset();
      view_ = std::exchange(other.view_, {});
    }
    return *this;
  }
  ~PinnedPath() { Reset(); }

  // path_put(). The inode first: it may be the mount's last.
  void Reset() {
    const PathView view = std::exchange(view_, {});
    if (view.inode == nullptr) return;
    PutInode(view.inode);
    view.mount->Put();
  }

  // Takes over the references that the caller holds, or nothing.
  static PinnedPath Adopt(const PathView& view) { return PinnedPath(view); }
  // Gives the references to the caller.
  [[nodiscard]] PathView Release() && { return std::exchange(view_, {}); }

  const PathView& view() const { return view_; }
  Mount& mount() const { return *view_.mount; }
  Inode& inode() const { return *view_.inode; }
  explicit operator bool() const { return view_.inode != nullptr; }

 private:
  explicit PinnedPath(const PathView& view) : view_(view) {}
  PathView view_;
};

}  // namespace vfsd::vfs
