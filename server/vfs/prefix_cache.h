// PrefixCache: where the beginnings of paths lead, so that a walk through known
// directories is one look instead of one for each component. Each thread has a
// small one of its own.
//
// What is in it: paths of plain names (no ".", "..", symbolic link) through
// directories that everybody may search, so that it holds for all credentials.
// An entry is good for one NamespaceGeneration; it keeps nothing alive. The
// directory that it names was not removed since, nor its mount ended, so that
// an RCU read section that began before the generation was read keeps them.
//
// The answer of a walk that begins here is one that a walk through all the
// components could have had: at the moment of reading the generation, no change
// was under way and nothing had changed since the entry was made, so the prefix
// led there.
//
// Thread safety: of the calling thread alone, in an RCU read section.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/vfs/name_bytes.h"
#include "server/vfs/path.h"

namespace vfsd::vfs {

class PrefixCache {
 public:
  // Longer prefixes are walked.
  static constexpr size_t kMaxPrefix = 80;

  // What is kept of `path`: up to its last slash, without it. Empty: nothing.
  static std::string_view PrefixOf(std::string_view path) {
    const size_t length = DirectoryLength(path);
    return length <= kMaxPrefix && length + 1 < path.size()
               ? path.substr(0, length)
               : std::string_view();
  }

  // The calling thread's, made with its first use.
  static PrefixCache& Own() {
    PrefixCache* const own = own_;
    return own != nullptr ? *own : Make();
  }

  // Where `prefix` leads from `start` in this generation, or null.
  [[nodiscard]] const PathView* Find(uint64_t generation, const PathView& start,
                                     std::string_view prefix) const {
    const Entry& entry = EntryFor(start, prefix);
    const bool found = entry.generation == generation && entry.start == start &&
                       entry.length == prefix.size() &&
                       SameBytes(entry.bytes, prefix.data(), prefix.size());
    return found ? &entry.end : nullptr;
  }

  // REQUIRES: that was found in this generation.
  void Remember(uint64_t generation, const PathView& start,
                std::string_view prefix, const PathView& end);

 private:
  static constexpr size_t kEntries = 1024;

  // Two cache lines.
  struct alignas(64) Entry {
    uint64_t generation = 0;
    PathView start;
    PathView end;
    uint64_t length = 0;
    char bytes[kMaxPrefix];
  };
  static_assert(sizeof(Entry) == 128);

  static PrefixCache& Make();

  static size_t IndexFor(const PathView& start, std::string_view prefix) {
    // Not seeded: who makes prefixes collide makes them slow as without it.
    constexpr NameHashSeed kSeed{0x9E3779B97F4A7C15U, 0xBF58476D1CE4E5B9U};
    return HashName(kSeed, start.inode, prefix) % kEntries;
  }
  const Entry& EntryFor(const PathView& start, std::string_view prefix) const {
    return entries_[IndexFor(start, prefix)];
  }

  static constinit thread_local PrefixCache* own_;

  std::array<Entry, kEntries> entries_;
};

}  // namespace vfsd::vfs
