// The lock-free steps of a walk: all in one RCU read section, no references, no
// locks; nothing is written but the access time of a followed symbolic link
// and the thread's own cache of prefixes.
// They leave where they cannot tell what the locked steps would have found:
// while a rename or a change of permissions is under way in the directory.
#pragma once

#include <string_view>

#include "server/vfs/namespace_generation.h"
#include "server/vfs/path_walk.h"
#include "server/vfs/prefix_cache.h"
#include "server/vfs/session.h"

namespace vfsd::vfs {

class FastSteps {
 public:
  FastSteps() = default;
  FastSteps(const FastSteps&) = delete;
  FastSteps& operator=(const FastSteps&) = delete;

  StepOutcome Start(const WalkRequest& request, bool absolute) {
    request_ = &request;
    root_ = request.session.root();
    here_ = root_;
    if (absolute || !request.dir.has_value()) return StepOutcome::Ok();
    const auto file = request.session.files().Look(*request.dir);
    if (!file.has_value()) return file.error();
    here_ = file->path;
    if (request.scoped()) root_ = here_;
    return StepOutcome::Ok();
  }

  // Goes from the start to where a known beginning of `rest` leads, and takes
  // it off `rest`.
  void SkipPrefix(std::string_view& rest) {
    const std::string_view prefix = PrefixCache::PrefixOf(rest);
    if (prefix.empty()) return;
    const uint64_t generation = NamespaceGeneration::Stable();
    if (generation == 0) return;
    const PathView* const end =
        PrefixCache::Own().Find(generation, here_, prefix);
    if (end == nullptr) {
      prefix_ = prefix;
      start_ = here_;
      generation_ = generation;
      return;
    }
    here_ = *end;
    rest.remove_prefix(prefix.size());
  }

  // Arrived at the directory of the last component.
  void RememberPrefix() {
    if (prefix_.empty()) [[likely]]
      return;
    // The walk's reads came before: each ended with an acquire fence.
    if (NamespaceGeneration::Stable() == generation_)
      PrefixCache::Own().Remember(generation_, start_, prefix_, here_);
    prefix_ = {};
  }

  const PathView& root() const { return root_; }

  const PathView& here() const { return here_; }
  const PathView& next() const { return next_; }
  void TakeNext() { here_ = next_; }

  StepOutcome CheckHere() {
    return Consistently(
        [this](Inode& directory) { return StepOutcome(MaySearch(directory)); });
  }

  StepOutcome Child(std::string_view name) {
    const uint32_t hash = DentryTable::Hash(here_.inode, name);
    return Consistently([&](Inode& directory) {
      const Errno error = MaySearch(directory);
      if (error != Errno::kOk) return StepOutcome(error);
      const Dentry* const dentry =
          here_.mount->file_system().dentries().Find(&directory, hash, name);
      if (dentry == nullptr) {
        const bool too_long =
            name.size() > linux_abi::kNameMax && !directory.HasFlag(kInodeDead);
        return StepOutcome(too_long ? Errno::kENAMETOOLONG : Errno::kENOENT);
      }
      next_ = {here_.mount, &dentry->inode()};
      return StepOutcome::Ok();
    });
  }

  StepOutcome CrossMounts() {
    while (next_.inode->HasFlag(kInodeMountPoint)) {
      Mount* const child =
          request_->vfs.mounts.FindChild(next_.mount, next_.inode);
      if (child == nullptr) break;
      next_ = {child, child->root()};
    }
    return StepOutcome::Ok();
  }

  StepOutcome Up() {
    prefix_ = {};
    const StepOutcome outcome = CheckHere();
    if (!outcome.ok()) return outcome;
    next_ = here_;
    // Out of the roots of mounts, but never out of the walk's root.
    for (;;) {
      if (next_ == root_) return outcome;
      if (next_.inode != next_.mount->root()) break;
      Mount* const above = next_.mount->above();
      if (above == nullptr) return outcome;
      next_ = {above, next_.mount->mountpoint()};
    }
    next_.inode = next_.inode->directory().parent();
    return outcome;
  }

  StepOutcome JumpToRoot() {
    here_ = root_;
    return StepOutcome::Ok();
  }

  // The read section keeps it.
  void KeepLink() { prefix_ = {}; }

 private:
  Errno MaySearch(const Inode& directory) {
    if (IsSearchableByAll(directory)) [[likely]]
      return Errno::kOk;
    prefix_ = {};  // what holds for these credentials
    return CheckPermission(request_->credentials, directory, kMayExec);
  }

  // Runs `decide` on the directory until nothing that it depends on changed
  // meanwhile; leaves when that does not come about soon.
  template <typename Decide>
  StepOutcome Consistently(Decide&& decide) {
    constexpr int kTries = 16;
    Inode& directory = *here_.inode;
    for (int i = 0; i < kTries; ++i) {
      const uint32_t begin = directory.walk_lock.ReadBegin();
      if ((begin & 1) != 0) {
        sync::SpinPause();
        continue;
      }
      const StepOutcome outcome = decide(directory);
      if (directory.walk_lock.ReadValid(begin)) [[likely]]
        return outcome;
    }
    return StepOutcome::Leave();
  }

  const WalkRequest* request_ = nullptr;
  PathView root_;
  PathView here_;
  PathView next_;

  // What to remember: `prefix_`, from `start_`. Empty: nothing.
  std::string_view prefix_;
  PathView start_;
  uint64_t generation_;
};

}  // namespace vfsd::vfs
