// The four fast paths: their switches and how often each was taken. Switching
// one off sends the work down the general path, which must exist anyway; no
// answer changes.
//
// Thread safety: all members from any thread; a switch takes effect for
// operations that begin after it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/base/sharded_counter.h"

namespace vfsd::vfs {

enum class FastPath : uint8_t {
  // An open that fails frees its never-opened file at once, on the caller's
  // thread, instead of deferring it.
  kReleaseEmpty,
  // Open takes over the reference that the path walk holds, instead of a
  // get/put cycle.
  kOpenConsume,
  // Entries that never disappear need no use count, opener record or
  // allocation on open, read and close.
  kPermanent,
  // Stat of a handle with an empty or absent path does not walk.
  kEmptyPath,
};
inline constexpr size_t kFastPathCount = 4;
inline constexpr std::array<FastPath, kFastPathCount> kAllFastPaths = {
    FastPath::kReleaseEmpty, FastPath::kOpenConsume, FastPath::kPermanent,
    FastPath::kEmptyPath};

// "release-empty", "open-consume", "permanent", "empty-path".
std::string_view FastPathName(FastPath path);
std::optional<FastPath> FastPathFromName(std::string_view name);

// Which fast paths are on: a value to parse command lines into.
class FastPathSet {
 public:
  static FastPathSet All() { return FastPathSet((1U << kFastPathCount) - 1); }
  static FastPathSet None() { return FastPathSet(0); }
  // "all", "none" or names separated by commas; nullopt for anything else.
  static std::optional<FastPathSet> Parse(std::string_view list);

  bool contains(FastPath path) const {
    return (bits_ >> static_cast<unsigned>(path)) & 1U;
  }

 private:
  explicit FastPathSet(uint32_t bits) : bits_(bits) {}
  uint32_t bits_;
};

class FastPaths {
 public:
  explicit FastPaths(FastPathSet enabled = FastPathSet::All()) {
    for (FastPath path : kAllFastPaths) Set(path, enabled.contains(path));
  }

  bool enabled(FastPath path) const {
    // relaxed: a switch orders nothing; both paths give the same answers.
    return switches_[static_cast<size_t>(path)].load(std::memory_order_relaxed);
  }
  void Set(FastPath path, bool enabled) {
    switches_[static_cast<size_t>(path)].store(enabled,
                                               std::memory_order_relaxed);
  }

  // An operation took the fast path.
  void CountHit(FastPath path) { counters_.Add(HitsOf(path), 1); }
  // An operation that might have taken it took the general path.
  void CountGeneral(FastPath path) { counters_.Add(GeneralOf(path), 1); }

  int64_t hits(FastPath path) const { return counters_.Sum(HitsOf(path)); }
  int64_t general(FastPath path) const {
    return counters_.Sum(GeneralOf(path));
  }

 private:
  static constexpr size_t HitsOf(FastPath path) {
    return static_cast<size_t>(path);
  }
  static constexpr size_t GeneralOf(FastPath path) {
    return kFastPathCount + static_cast<size_t>(path);
  }

  std::array<std::atomic<bool>, kFastPathCount> switches_;
  ShardedCounters<size_t, 2 * kFastPathCount> counters_;
};

}  // namespace vfsd::vfs
