#include "server/vfs/walk.h"

#include "server/vfs/fast_steps.h"
#include "server/vfs/locked_steps.h"
#include "server/vfs/path_walk.h"

namespace vfsd::vfs {

Errno CheckPathArgument(const PathArgument& path, bool empty_allowed) {
  if (!path.has_value()) return Errno::kEFAULT;
  if (path->empty()) return empty_allowed ? Errno::kOk : Errno::kENOENT;
  if (path->find('\0') != std::string_view::npos) return Errno::kEINVAL;
  if (path->size() >= linux_abi::kPathMax) return Errno::kENAMETOOLONG;
  return Errno::kOk;
}

Walker::FastOutcome Walker::WalkFast(PathView& view) {
  if (request_.vfs.options().locked_walk_only) return {false, Errno::kOk};
  FastSteps steps;
  PathWalk<FastSteps> walk(request_, steps);
  const StepOutcome outcome = walk.ToEnd();
  if (outcome.leave()) return {false, Errno::kOk};
  request_.vfs.fast_walks.Add(1);
  view = steps.here();
  return {true, outcome.error()};
}

Result<PinnedPath> Walker::ResolveLocked() {
  // RESOLVE_CACHED: only what can be told at once.
  if (request_.forbids(linux_abi::kResolveCached) &&
      !request_.vfs.options().locked_walk_only) {
    return Fail(Errno::kEAGAIN);
  }
  request_.vfs.locked_walks.Add(1);
  LockedSteps steps;
  PathWalk<LockedSteps> walk(request_, steps);
  const StepOutcome outcome = walk.ToEnd();
  if (!outcome.ok()) return Fail(outcome.error());
  return steps.TakeHere();
}

Result<PinnedPath> Walker::Resolve() {
  {
    const sync::RcuReadSection section;
    PathView view;
    const FastOutcome outcome = WalkFast(view);
    if (outcome.answered) {
      if (outcome.error != Errno::kOk) return Fail(outcome.error);
      PinnedPath path = PinnedPath::TryShare(view);
      if (path) return path;
    }
  }
  return ResolveLocked();
}

Result<WalkParent> Walker::ResolveParent() {
  const auto parent_of = [](const auto& walk, PinnedPath directory) {
    WalkParent parent;
    parent.directory = std::move(directory);
    parent.type = walk.last_type();
    parent.name = walk.last();
    parent.trailing_slash = walk.last_trailing_slash();
    return parent;
  };
  if (!request_.vfs.options().locked_walk_only) {
    const sync::RcuReadSection section;
    FastSteps steps;
    PathWalk<FastSteps> walk(request_, steps);
    const StepOutcome outcome = walk.ToParent();
    if (!outcome.leave()) {
      request_.vfs.fast_walks.Add(1);
      if (!outcome.ok()) return Fail(outcome.error());
      PinnedPath directory = PinnedPath::TryShare(steps.here());
      if (directory) return parent_of(walk, std::move(directory));
    }
  }
  request_.vfs.locked_walks.Add(1);
  LockedSteps steps;
  PathWalk<LockedSteps> walk(request_, steps);
  const StepOutcome outcome = walk.ToParent();
  if (!outcome.ok()) return Fail(outcome.error());
  return parent_of(walk, steps.TakeHere());
}

}  // namespace vfsd::vfs
