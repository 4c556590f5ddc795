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

inline ShardedCounters<ObjectKind, kObjectKindCount> counters;

inline void Add(ObjectKind kind, int64_t delta) { counters.Add(kind, delta); }
inline int64_t Count(ObjectKind kind) { return counters.Sum(kind); }

// All counts, by kind. Tests compare two of them.
using Snapshot = std::array<int64_t, kObjectKindCount>;
inline Snapshot TakeSnapshot() {
  Snapshot snapshot;
  for (size_t i = 0; i < kObjectKindCount; ++i)
    snapshot[i] = Count(static_cast<ObjectKind>(i));
  return snapshot;
}

}  // namespace live_objects
}  // namespace vfsd::vfs
