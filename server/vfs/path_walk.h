// The walk's algorithm, written once: components, ".", "..", mounts, symbolic
// links, trailing slashes, in the order in which the kernel decides
// (link_path_walk, walk_component, step_into, pick_link, complete_walk). The
// Steps that it is given look up one name and hold the position.
//
// Steps must have:
//  - StepOutcome Start(const WalkRequest&, bool absolute): the first position
//  - const PathView& here() const: the position
//  - StepOutcome CheckHere(): search permission on here()
//  - StepOutcome Child(std::string_view name): CheckHere, then the name's inode
//    as next(), mounts not crossed; here() is unchanged
//  - const PathView& next() const: the position to come
//  - void TakeNext(): here() = next()
//  - StepOutcome CrossMounts(): next() becomes what covers it
//  - StepOutcome Up(): CheckHere, then next() = ".."
//  - StepOutcome JumpToRoot(): here() = root()
//  - const PathView& root() const: what ".." does not leave
//  - void KeepLink(): next() stays readable
//  - void SkipPrefix(std::string_view& rest): here() may go ahead by plain
//  names
//    of `rest`, which are taken off
//  - void RememberPrefix(): here() is where all but the last component led
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "server/vfs/name_bytes.h"
#include "server/vfs/permission.h"
#include "server/vfs/vfs.h"
#include "server/vfs/walk.h"

namespace vfsd::vfs {

// An answer, or "leave the fast walk", which no caller of the walk ever sees.
class [[nodiscard]] StepOutcome {
 public:
  static constexpr StepOutcome Ok() { return StepOutcome(0); }
  static constexpr StepOutcome Leave() { return StepOutcome(-1); }
  constexpr StepOutcome(Errno error) : value_(static_cast<int32_t>(error)) {}

  constexpr bool ok() const { return value_ == 0; }
  constexpr bool leave() const { return value_ < 0; }
  // REQUIRES: !leave().
  constexpr Errno error() const { return static_cast<Errno>(value_); }

 private:
  explicit constexpr StepOutcome(int32_t value) : value_(value) {}
  int32_t value_;
};

template <typename Steps>
class PathWalk {
 public:
  PathWalk(const WalkRequest& request, Steps& steps)
      : request_(request),
        steps_(steps),
        rest_(request.path),
        flags_(request.flags) {}

  // To what the path names: steps.here().
  StepOutcome ToEnd() {
    StepOutcome outcome = Begin();
    if (!outcome.ok()) return outcome;
    for (;;) {
      outcome = ToLast();
      if (!outcome.ok()) return outcome;
      bool link = false;
      outcome = StepLast(link);
      if (!outcome.ok()) return outcome;
      if (!link) return Complete();
    }
  }

  // To the directory of the last component: steps.here(), and last().
  StepOutcome ToParent() {
    const StepOutcome outcome = Begin();
    if (!outcome.ok()) return outcome;
    return ToParentAgain();
  }

  // After ToParent and FollowLast: to the directory of the link's last
  // component.
  StepOutcome ToParentAgain() {
    const StepOutcome outcome = ToLast();
    if (!outcome.ok() || last_type_ == LastType::kRoot) return outcome;
    return steps_.CheckHere();
  }

  // After ToParent: steps to the last component. `link` is set if that was a
  // symbolic link to be followed, and rest of the walk is its target.
  StepOutcome StepLast(bool& link) {
    link = false;
    if (last_type_ == LastType::kRoot) return StepOutcome::Ok();
    if (last_trailing_slash_) {
      if ((flags_ & kWalkCreate) != 0 && last_type_ == LastType::kName) {
        return Errno::kEISDIR;
      }
      flags_ |= kWalkFollow | kWalkDirectory;
    }
    return Step(last_, last_type_, (flags_ & kWalkFollow) != 0,
                /*trailing=*/true, link);
  }

  // complete_walk(): what the end must be.
  StepOutcome Complete() {
    if ((flags_ & kWalkDirectory) != 0 && !steps_.here().inode->IsDirectory()) {
      return Errno::kENOTDIR;
    }
    return StepOutcome::Ok();
  }

  LastType last_type() const { return last_type_; }
  std::string_view last() const { return last_; }
  bool last_trailing_slash() const { return last_trailing_slash_; }

 private:
  StepOutcome Begin() {
    bool absolute = !rest_.empty() && rest_.front() == '/';
    if (absolute && request_.forbids(linux_abi::kResolveBeneath))
      return Errno::kEXDEV;
    // In a root of its own, the starting directory is what "/" means.
    if (request_.forbids(linux_abi::kResolveInRoot)) absolute = false;
    if (request_.scoped())
      directory_moves_ = request_.vfs.directory_moves.load();
    const StepOutcome outcome = steps_.Start(request_, absolute);
    if (!outcome.ok()) return outcome;
    root_known_ = absolute || request_.scoped();
    if (!rest_.empty() && !steps_.here().inode->IsDirectory())
      return Errno::kENOTDIR;
    // RESOLVE_* look at every component.
    if (request_.resolve == 0) steps_.SkipPrefix(rest_);
    return outcome;
  }

  // RESOLVE_CACHED: what the kernel can only tell with locks, it does not tell.
  // It keeps no record of missing names, and looks twice before it refuses.
  StepOutcome Cached(StepOutcome outcome) const {
    if (outcome.ok() || outcome.leave() ||
        !request_.forbids(linux_abi::kResolveCached)) {
      return outcome;
    }
    switch (outcome.error()) {
      case Errno::kENOENT:
      case Errno::kENAMETOOLONG:
      case Errno::kEACCES:
      case Errno::kENOTDIR:
        return Errno::kEAGAIN;
      default:
        return outcome;
    }
  }

  static std::string_view SkipSlashes(std::string_view path) {
    size_t skip = 0;
    while (skip < path.size() && path[skip] == '/') ++skip;
    return path.substr(skip);
  }

  // link_path_walk(): everything but the last component.
  StepOutcome ToLast() {
    rest_ = SkipSlashes(rest_);
    last_type_ = LastType::kRoot;
    last_trailing_slash_ = false;
    if (rest_.empty()) return StepOutcome::Ok();
    for (;;) {
      const std::string_view name = rest_.substr(0, ComponentLength(rest_));
      const bool slash = name.size() != rest_.size();
      rest_ = SkipSlashes(rest_.substr(name.size()));
      const LastType type = TypeOf(name);
      if (rest_.empty()) {
        if (depth_ == 0) {
          steps_.RememberPrefix();
          last_ = name;
          last_type_ = type;
          last_trailing_slash_ = slash;
          return StepOutcome::Ok();
        }
        // The last component of a link in the middle: go on behind the link.
        rest_ = stack_[--depth_].view();
      }
      bool link = false;
      const std::string_view behind = rest_;
      const StepOutcome outcome =
          Step(name, type, /*follow=*/true, /*trailing=*/false, link);
      if (!outcome.ok()) return outcome;
      if (link) {
        // rest_ is the link's target now.
        stack_[depth_++] = {behind.data(), behind.size()};
        continue;
      }
      if (!steps_.here().inode->IsDirectory()) return Cached(Errno::kENOTDIR);
    }
  }

  static LastType TypeOf(std::string_view name) {
    if (name.front() != '.' || name.size() > 2) [[likely]]
      return LastType::kName;
    if (name.size() == 1) return LastType::kDot;
    return name.back() == '.' ? LastType::kDotDot : LastType::kName;
  }

  // walk_component(). If `link` is set, rest_ is the target to go on with.
  // trailing: it is the path's last component.
  [[gnu::always_inline]] inline StepOutcome Step(std::string_view name,
                                                 LastType type, bool follow,
                                                 bool trailing, bool& link) {
    if (type == LastType::kDot) return Cached(steps_.CheckHere());
    StepOutcome outcome =
        Cached(type == LastType::kDotDot ? StepUp() : steps_.Child(name));
    if (!outcome.ok()) return outcome;
    if (steps_.next().inode->HasFlag(kInodeMountPoint)) {
      const Mount* const above = steps_.next().mount;
      outcome = steps_.CrossMounts();
      if (!outcome.ok()) return outcome;
      if (request_.forbids(linux_abi::kResolveNoXdev) &&
          steps_.next().mount != above) {
        return Errno::kEXDEV;
      }
    }
    if (follow && steps_.next().inode->IsSymlink())
      return FollowLink(trailing, link);
    steps_.TakeNext();
    return outcome;
  }

  // handle_dots(): "..", and what a confined walk checks about it.
  StepOutcome StepUp() {
    root_known_ = true;
    const bool at_root = steps_.here() == steps_.root();
    const StepOutcome outcome = steps_.Up();
    if (!outcome.ok() || request_.resolve == 0) return outcome;
    if (at_root && request_.forbids(linux_abi::kResolveBeneath))
      return Errno::kEXDEV;
    if (request_.forbids(linux_abi::kResolveNoXdev) &&
        steps_.next().mount != steps_.here().mount) {
      return Errno::kEXDEV;
    }
    // A directory was moved: ".." may have led out of the scope.
    if (request_.scoped() &&
        ((directory_moves_ & 1) != 0 ||
         request_.vfs.directory_moves.load() != directory_moves_)) {
      return Errno::kEAGAIN;
    }
    return outcome;
  }

  // pick_link().
  StepOutcome FollowLink(bool trailing, bool& link) {
    if (++links_ > linux_abi::kMaxSymlinks) return Errno::kELOOP;
    Inode& inode = *steps_.next().inode;
    if (trailing) {
      const Errno error =
          CheckFollowLink(request_.vfs.options(), request_.credentials,
                          *steps_.here().inode, inode);
      if (error != Errno::kOk) return Cached(error);
    }
    if (request_.forbids(linux_abi::kResolveNoSymlinks)) return Errno::kELOOP;
    if (!steps_.next().mount->read_only()) {
      if (request_.forbids(linux_abi::kResolveCached) &&
          inode.IsAccessTimeStale()) {
        return Errno::kEAGAIN;  // a write, which may wait
      }
      inode.TouchAccessTime();
    }
    const std::string_view target = inode.symlink_target();
    steps_.KeepLink();
    if (target.front() == '/') {
      if (request_.forbids(linux_abi::kResolveBeneath)) return Errno::kEXDEV;
      // The kernel compares with a root that it may not have looked up yet: a
      // relative path's first link to an absolute one always crosses.
      if (request_.forbids(linux_abi::kResolveNoXdev) &&
          (!root_known_ || steps_.here().mount != steps_.root().mount)) {
        return Errno::kEXDEV;
      }
      root_known_ = true;
      const StepOutcome outcome = steps_.JumpToRoot();
      if (!outcome.ok()) return outcome;
      const std::string_view below = SkipSlashes(target);
      if (below.empty()) return outcome;  // "/": arrived
      rest_ = below;
    } else {
      rest_ = target;
    }
    link = true;
    return StepOutcome::Ok();
  }

  const WalkRequest& request_;
  Steps& steps_;
  std::string_view rest_;
  uint32_t flags_;
  uint64_t directory_moves_ = 0;  // when a confined walk began
  bool root_known_ = false;       // the kernel's nd->root is set
  uint32_t links_ = 0;
  uint32_t depth_ = 0;
  // What is left to walk behind the links that we are in. Not initialized: few
  // walks need it.
  struct Rest {
    const char* data;
    size_t size;
    std::string_view view() const { return {data, size}; }
  };
  std::array<Rest, linux_abi::kMaxSymlinks> stack_;
  std::string_view last_;
  LastType last_type_ = LastType::kRoot;
  bool last_trailing_slash_ = false;
};

}  // namespace vfsd::vfs
