// A program: operations on a small namespace, to be run by the kernel and by
// vfsd alike. A plain value; what it means is up to the runners, how it is
// written as text is up to program_text.h.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfsd::differential {

// X(name, text, fields): every kind of operation, the word for it in texts, and
// which of Step's fields it uses. A new kind is a row here; the compiler then
// names the places where the runners must learn it.
#define VFSD_STEP_KINDS(X)                                                \
  X(Open, "open", kResult | kDir | kPath | kFlags | kMode)                \
  X(OpenHow, "open2", kResult | kDir | kPath | kFlags | kMode | kResolve) \
  X(Close, "close", kDir)                                                 \
  X(Stat, "stat", kDir | kPath | kFlags | kMask)                          \
  X(Access, "access", kDir | kPath | kMode | kFlags)                      \
  X(Read, "read", kDir | kOffset | kSize)                                 \
  X(ReadDirectory, "readdir", kDir | kPath | kSize | kMask)               \
  X(ReadLink, "readlink", kDir | kPath)                                   \
  X(MakeDirectory, "mkdir", kDir | kPath | kMode)                         \
  X(MakeNode, "mknod", kDir | kPath | kMode | kDevice)                    \
  X(MakeSymlink, "symlink", kPath2 | kDir | kPath)                        \
  X(MakeLink, "link", kDir | kPath | kDir2 | kPath2 | kFlags)             \
  X(Unlink, "unlink", kDir | kPath | kFlags)                              \
  X(Rename, "rename", kDir | kPath | kDir2 | kPath2 | kFlags)             \
  X(ChangeMode, "chmod", kDir | kPath | kFlags | kMode)                   \
  X(ChangeOwner, "chown", kDir | kPath | kFlags | kOwner)                 \
  X(Truncate, "truncate", kDir | kPath | kSize)                           \
  X(SetTimes, "utimens", kDir | kPath | kFlags | kTimes)                  \
  X(StatFileSystem, "statfs", kDir | kPath)                               \
  X(SetAttributes, "setattr",                                             \
    kDir | kPath | kFlags | kMode | kOwner | kSize | kTimes | kChanges)   \
  X(Mount, "mount", kPath | kFlags)                                       \
  X(Bind, "bind", kPath2 | kPath | kFlags)                                \
  X(Unmount, "umount", kPath | kFlags)                                    \
  X(Remount, "remount", kPath | kFlags)

// Bits: the fields of a Step that a kind uses.
enum FieldBit : uint32_t {
  kResult = 1U << 0,
  kDir = 1U << 1,
  kPath = 1U << 2,
  kDir2 = 1U << 3,
  kPath2 = 1U << 4,
  kFlags = 1U << 5,
  kMode = 1U << 6,
  kMask = 1U << 7,
  kOffset = 1U << 8,
  kSize = 1U << 9,
  kOwner = 1U << 10,
  kDevice = 1U << 11,
  kTimes = 1U << 12,
  kResolve = 1U << 13,
  kChanges = 1U << 14,
};

// setattr: what it changes.
enum ChangeBit : uint32_t {
  kChangesMode = 1U << 0,
  kChangesOwner = 1U << 1,
  kChangesSize = 1U << 2,
  kChangesTimes = 1U << 3,
};

enum class Kind : uint8_t {
#define VFSD_STEP_ENUMERATOR(name, text, fields) k##name,
  VFSD_STEP_KINDS(VFSD_STEP_ENUMERATOR)
#undef VFSD_STEP_ENUMERATOR
};

inline constexpr struct KindRow {
  std::string_view text;
  uint32_t fields;
} kKindRows[] = {
#define VFSD_STEP_ROW(name, text, fields) {text, fields},
    VFSD_STEP_KINDS(VFSD_STEP_ROW)
#undef VFSD_STEP_ROW
};
inline constexpr size_t kKindCount = sizeof(kKindRows) / sizeof(kKindRows[0]);

inline const KindRow& RowOf(Kind kind) {
  return kKindRows[static_cast<size_t>(kind)];
}
inline bool Uses(Kind kind, FieldBit field) {
  return (RowOf(kind).fields & field) != 0;
}

// A handle argument: the number that the step that opened it gave its result,
// or one of these. A number that no step before it gave, or whose handle is
// closed, is a handle that is not open.
inline constexpr int kCwd = -1;  // AT_FDCWD
inline constexpr int kNoHandle = 0;

// chown: leaves that one as it is.
inline constexpr uint32_t kUnchanged = 0xffffffff;

// A time argument of utimensat(2).
struct TimeArgument {
  enum class Kind : uint8_t { kOmit, kNow, kSet };
  Kind kind = Kind::kOmit;
  int64_t seconds = 0;
  uint32_t nanoseconds = 0;
  friend bool operator==(const TimeArgument&, const TimeArgument&) = default;
};

// A path argument; absent is C's NULL.
using PathText = std::optional<std::string>;

// chmod, chown, truncate, utimens and statfs of a handle without a path are
// their f-forms (fchmod and so on). setattr is several of them at once. readdir
// with a mask asks for the entries' attributes too. mount, bind, umount and
// remount are root's, whoever the actor is; a path that leads to the root is
// not asked (ECANCELED).
struct Step {
  Kind kind = Kind::kClose;
  // Index into Program::actors: under whose credentials.
  uint32_t actor = 0;
  int result = 0;  // of what opens: the handle's number, from 1
  int dir = kCwd;  // also of close and read: the handle
  PathText path;
  int dir2 = kCwd;
  PathText path2;  // of symlink: the target; of bind: what to mount
  uint32_t flags = 0;
  uint32_t mode = 0;
  uint32_t mask = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t resolve = 0;
  uint32_t changes = 0;  // ChangeBits
  uint32_t device_major = 0;
  uint32_t device_minor = 0;
  TimeArgument atime;
  TimeArgument mtime;
  // What the answer must be, by errno's value (0: success), on both sides;
  // absent: whatever the kernel says.
  std::optional<int32_t> expected;
};

struct Actor {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
  friend auto operator<=>(const Actor&, const Actor&) = default;
};

// Which of the kernel's file systems the program runs on.
enum class Oracle : uint8_t {
  kTmpfs,
  kRamfs,  // has no O_DIRECT: late errors
};

struct Program {
  std::string name;
  uint64_t seed = 0;
  Oracle oracle = Oracle::kTmpfs;
  uint32_t root_mode = 0755;
  uint32_t umask = 022;
  // Each step runs in a clock tick of its own, so that every time in every
  // answer tells which step stamped it.
  bool ticks = false;
  std::vector<Actor> actors{Actor{}};
  std::vector<Step> steps;
};

}  // namespace vfsd::differential
