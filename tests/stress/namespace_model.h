// NamespaceModel: what a handful of names would answer if one operation ran
// after the other. The linearizability checker looks for an order of a
// concurrent history's operations that this model agrees with.
//
// A value: copied and thrown away by the checker's search.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "server/base/errno.h"

namespace vfsd::stress {

// Two directories with two names each, which never change themselves.
inline constexpr std::array<const char*, 4> kNames = {"/l/a", "/l/b", "/m/a",
                                                      "/m/b"};

// What one step does. A link is two steps, as link(2) is: it looks its old name
// up, and then gives what it found another name.
enum class Action : uint8_t {
  kStat,
  kOpen,
  kCreateExclusive,
  kOpenOrCreate,
  kUnlink,
  kRename,
  kRenameNoreplace,
  kExchange,
  kLinkLookup,
  kLinkAdd,
};

// An operation, or a part of one, and what the core answered.
struct Step {
  Action action = Action::kStat;
  uint8_t name = 0;   // index into kNames
  uint8_t other = 0;  // of a rename or link: the new name
  Errno error = Errno::kOk;
  uint64_t ino = 0;  // of a stat or open that succeeded
};

// "rename /l/a /m/b = ENOENT".
std::string Describe(const Step& step);

class NamespaceModel {
 public:
  static constexpr size_t kMaxThreads = 4;

  // The inode numbers that the names have at the beginning; 0: no such name.
  explicit NamespaceModel(const std::array<uint64_t, kNames.size()>& inos)
      : inos_(inos) {}

  // Runs `step` of `thread`; false if the answer could not have been this.
  bool Apply(size_t thread, const Step& step);

  // Equal states have equal keys, and others others.
  void AppendKey(std::string& key) const;

 private:
  std::array<uint64_t, kNames.size()> inos_;
  // What each thread's link has looked up.
  std::array<uint64_t, kMaxThreads> looked_up_{};
};

}  // namespace vfsd::stress
