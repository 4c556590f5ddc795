// How many objects of each kind exist in the process, from construction to the
// end of their memory (after its grace period). Tests bring the counts back to
// a baseline; /metrics and /proc/stat show them.
//
// Thread safety: all from any thread; sums as exact as ShardedCounter's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/base/sharded_counter.h"

namespace vfsd::vfs {

enum class ObjectKind : uint8_t {
  kRegularInode,
  kDirectoryInode,
  kSymlinkInode,
  kSpecialInode,  // fifo, socket, device node
  kSyntheticInode,
  kDentry,
  kFile,
  kMount,
  kSession,
};
inline constexpr size_t kObjectKindCount = 9;

// "regular_inode", "dentry" …
std::string_view ObjectKindName(ObjectKind kind);

namespace live_objects {

inline std::array<ShardedCounter, kObjectKindCount> counters;

inline void Add(ObjectKind kind, int64_t delta) {
  counters[static_cast<size_t>(kind)].Add(delta);
}
inline int64_t Count(ObjectKind kind) {
  return counters[static_cast<size_t>(kind)].Sum();
}

// All counts, by kind. Tests compare two of them.
using Snapshot = std::array<int64_t, kObjectKindCount>;
inline Snapshot TakeSnapshot() {
  Snapshot snapshot;
  for (size_t i = 0; i < kObjectKindCount; ++i) snapshot[i] = counters[i].Sum();
  return snapshot;
}

}  // namespace live_objects
}  // namespace vfsd::vfs
