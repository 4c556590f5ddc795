#include "tests/differential/program_text.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <span>

#include "server/base/errno.h"
#include "server/vfs/linux_abi.h"

namespace vfsd::differential {
namespace {

namespace abi = vfs::linux_abi;

constexpr FlagName kOpenFlagNames[] = {
    {abi::kOWrOnly, "O_WRONLY"},       {abi::kORdWr, "O_RDWR"},
    {abi::kOCreat, "O_CREAT"},         {abi::kOExcl, "O_EXCL"},
    {abi::kONoctty, "O_NOCTTY"},       {abi::kOTrunc, "O_TRUNC"},
    {abi::kOAppend, "O_APPEND"},       {abi::kONonblock, "O_NONBLOCK"},
    {abi::kODsync, "O_DSYNC"},         {abi::kFasync, "FASYNC"},
    {abi::kODirect, "O_DIRECT"},       {abi::kOLargefile, "O_LARGEFILE"},
    {abi::kODirectory, "O_DIRECTORY"}, {abi::kONofollow, "O_NOFOLLOW"},
    {abi::kONoatime, "O_NOATIME"},     {abi::kOCloexec, "O_CLOEXEC"},
    {abi::kOSyncBit, "__O_SYNC"},      {abi::kOPath, "O_PATH"},
    {abi::kOTmpfileBit, "__O_TMPFILE"}};
constexpr FlagName kAtFlagNames[] = {
    {abi::kAtSymlinkNofollow, "AT_SYMLINK_NOFOLLOW"},
    {abi::kAtEaccess, "AT_EACCESS"},
    {abi::kAtSymlinkFollow, "AT_SYMLINK_FOLLOW"},
    {abi::kAtNoAutomount, "AT_NO_AUTOMOUNT"},
    {abi::kAtEmptyPath, "AT_EMPTY_PATH"},
    {abi::kAtStatxForceSync, "AT_STATX_FORCE_SYNC"},
    {abi::kAtStatxDontSync, "AT_STATX_DONT_SYNC"}};
constexpr FlagName kUnlinkFlagNames[] = {{abi::kAtRemovedir, "AT_REMOVEDIR"}};
constexpr FlagName kRenameFlagNames[] = {
    {abi::kRenameNoreplace, "RENAME_NOREPLACE"},
    {abi::kRenameExchange, "RENAME_EXCHANGE"}};
constexpr FlagName kMountFlagNames[] = {{1, "MS_RDONLY"}};
constexpr FlagName kUnmountFlagNames[] = {{2, "MNT_DETACH"}};

std::span<const FlagName> NamesOf(Kind kind) {
  switch (kind) {
    case Kind::kOpen:
    case Kind::kOpenHow:
      return kOpenFlagNames;
    case Kind::kUnlink:
      return kUnlinkFlagNames;
    case Kind::kRename:
      return kRenameFlagNames;
    case Kind::kMount:
    case Kind::kBind:
    case Kind::kRemount:
      return kMountFlagNames;
    case Kind::kUnmount:
      return kUnmountFlagNames;
    default:
      return kAtFlagNames;
  }
}

std::string QuotedPath(const PathText& path) {
  if (!path.has_value()) return "NULL";
  std::string text = "\"";
  constexpr size_t kMinRun = 12;
  for (size_t i = 0; i < path->size();) {
    const auto c = static_cast<unsigned char>((*path)[i]);
    // Runs of one or two characters, repeated.
    bool run = false;
    for (const size_t width : {size_t{1}, size_t{2}, size_t{3}}) {
      const std::string unit = path->substr(i, width);
      size_t count = 1;
      while (unit.size() == width &&
             path->compare(i + count * width, width, unit) == 0 &&
             i + (count + 1) * width <= path->size()) {
        ++count;
      }
      const bool plain = unit.find_first_of("\"\\{}*") == std::string::npos;
      if (count >= kMinRun && plain) {
        text += fmt::format("\\{{{}*{}}}", unit, count);
        i += count * width;
        run = true;
        break;
      }
    }
    if (run) continue;
    if (c == '"' || c == '\\') {
      text += fmt::format("\\x{:02x}", c);
    } else if (c < 0x20 || c >= 0x7f) {
      text += fmt::format("\\x{:02x}", c);
    } else {
      text.push_back(static_cast<char>(c));
    }
    ++i;
  }
  return text + "\"";
}

std::string HandleText(int handle) {
  if (handle == kCwd) return "cwd";
  return fmt::format("@{}", handle);
}

template <typename Number>
bool ParseNumber(std::string_view text, Number& number) {
  int base = 10;
  if (text.starts_with("0x")) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  const auto result =
      std::from_chars(text.data(), text.data() + text.size(), number, base);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool ParseErrno(std::string_view text, int32_t& value) {
  if (text == "OK") {
    value = 0;
    return true;
  }
#define VFSD_PARSE_ERRNO(name, number, string) \
  if (text == #name) {                         \
    value = number;                            \
    return true;                               \
  }
  VFSD_ERRNO_TABLE(VFSD_PARSE_ERRNO)
#undef VFSD_PARSE_ERRNO
  return ParseNumber(text, value);
}

bool ParseFlags(Kind kind, std::string_view text, uint32_t& flags) {
  flags = 0;
  while (!text.empty()) {
    const size_t bar = text.find('|');
    const std::string_view word = text.substr(0, bar);
    text = bar == std::string_view::npos ? "" : text.substr(bar + 1);
    bool found = false;
    for (const FlagName& name : NamesOf(kind)) {
      if (name.name == word) {
        flags |= name.value;
        found = true;
      }
    }
    uint32_t number = 0;
    if (!found && !ParseNumber(word, number)) return false;
    flags |= number;
  }
  return true;
}

// A quoted string at the start of `text`, which is shortened by it.
bool ParseQuoted(std::string_view& text, std::string& value) {
  value.clear();
  if (!text.starts_with('"')) return false;
  size_t i = 1;
  while (i < text.size() && text[i] != '"') {
    if (text[i] != '\\') {
      value.push_back(text[i++]);
      continue;
    }
    if (text.compare(i, 2, "\\x") == 0 && i + 4 <= text.size()) {
      unsigned byte = 0;
      const auto result =
          std::from_chars(text.data() + i + 2, text.data() + i + 4, byte, 16);
      if (result.ec != std::errc()) return false;
      value.push_back(static_cast<char>(byte));
      i += 4;
      continue;
    }
    if (text.compare(i, 2, "\\{") != 0) return false;
    const size_t close = text.find('}', i);
    if (close == std::string_view::npos) return false;
    const std::string_view inner = text.substr(i + 2, close - i - 2);
    const size_t star = inner.rfind('*');
    size_t count = 0;
    if (star == std::string_view::npos ||
        !ParseNumber(inner.substr(star + 1), count)) {
      return false;
    }
    for (size_t n = 0; n < count; ++n) value += inner.substr(0, star);
    i = close + 1;
  }
  if (i >= text.size()) return false;
  text.remove_prefix(i + 1);
  return true;
}

bool ParseHandle(std::string_view text, int& handle) {
  if (text == "cwd") {
    handle = kCwd;
    return true;
  }
  return text.starts_with('@') && ParseNumber(text.substr(1), handle);
}

std::string TimeText(const TimeArgument& time) {
  switch (time.kind) {
    case TimeArgument::Kind::kOmit:
      return "omit";
    case TimeArgument::Kind::kNow:
      return "now";
    case TimeArgument::Kind::kSet:
      return fmt::format("{}.{}", time.seconds, time.nanoseconds);
  }
  return "";
}

bool ParseTime(std::string_view text, TimeArgument& time) {
  time = {};
  if (text == "omit") return true;
  if (text == "now") {
    time.kind = TimeArgument::Kind::kNow;
    return true;
  }
  time.kind = TimeArgument::Kind::kSet;
  const size_t dot = text.find('.');
  return dot != std::string_view::npos &&
         ParseNumber(text.substr(0, dot), time.seconds) &&
         ParseNumber(text.substr(dot + 1), time.nanoseconds);
}

std::string_view NextWord(std::string_view& text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

bool ParseField(Step& step, std::string_view name, std::string_view& rest) {
  if (name == "path" || name == "path2") {
    PathText& path = name == "path" ? step.path : step.path2;
    if (rest.starts_with("NULL")) {
      path.reset();
      rest.remove_prefix(4);
      return true;
    }
    return ParseQuoted(rest, path.emplace());
  }
  const std::string_view value = NextWord(rest);
  if (name == "as") return ParseNumber(value, step.actor);
  if (name == "dir") return ParseHandle(value, step.dir);
  if (name == "dir2") return ParseHandle(value, step.dir2);
  if (name == "flags") return ParseFlags(step.kind, value, step.flags);
  if (name == "mode") return ParseNumber(value, step.mode);
  if (name == "mask") return ParseNumber(value, step.mask);
  if (name == "offset") return ParseNumber(value, step.offset);
  if (name == "size") return ParseNumber(value, step.size);
  if (name == "uid") return ParseNumber(value, step.uid);
  if (name == "gid") return ParseNumber(value, step.gid);
  if (name == "resolve") return ParseNumber(value, step.resolve);
  if (name == "changes") return ParseNumber(value, step.changes);
  if (name == "major") return ParseNumber(value, step.device_major);
  if (name == "minor") return ParseNumber(value, step.device_minor);
  if (name == "atime") return ParseTime(value, step.atime);
  if (name == "mtime") return ParseTime(value, step.mtime);
  return false;
}

bool ParseStep(std::string_view line, Step& step) {
  std::string_view word = NextWord(line);
  if (word.starts_with('@')) {
    if (!ParseHandle(word, step.result) || NextWord(line) != "=") return false;
    word = NextWord(line);
  }
  bool known = false;
  for (size_t i = 0; i < kKindCount; ++i) {
    if (kKindRows[i].text == word) {
      step.kind = static_cast<Kind>(i);
      known = true;
    }
  }
  if (!known) return false;
  for (;;) {
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    if (line.empty()) return true;
    if (line.starts_with("->")) {
      line.remove_prefix(2);
      return ParseErrno(NextWord(line), step.expected.emplace());
    }
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = line.substr(0, equals);
    line.remove_prefix(equals + 1);
    if (!ParseField(step, name, line)) return false;
  }
}

bool ParseActor(std::string_view rest, Program& program) {
  size_t index = 0;
  if (!ParseNumber(NextWord(rest), index) || index > 1000) return false;
  if (program.actors.size() <= index) program.actors.resize(index + 1);
  Actor& actor = program.actors[index];
  actor.groups.clear();
  std::string_view ids = NextWord(rest);
  const size_t colon = ids.find(':');
  if (colon == std::string_view::npos) return false;
  if (!ParseNumber(ids.substr(0, colon), actor.uid)) return false;
  ids.remove_prefix(colon + 1);
  const size_t second = ids.find(':');
  if (!ParseNumber(ids.substr(0, second), actor.gid)) return false;
  if (second == std::string_view::npos) return true;
  ids.remove_prefix(second + 1);
  while (!ids.empty()) {
    const size_t comma = ids.find(',');
    uint32_t group = 0;
    if (!ParseNumber(ids.substr(0, comma), group)) return false;
    actor.groups.push_back(group);
    ids = comma == std::string_view::npos ? "" : ids.substr(comma + 1);
  }
  return true;
}

}  // namespace

std::string ErrnoText(int32_t error) {
  const std::string_view name = ErrnoName(static_cast<Errno>(error));
  if (name == "EUNKNOWN") return fmt::format("{}", error);
  return std::string(name);
}

std::vector<FlagName> FlagNames(Kind kind) {
  const auto names = NamesOf(kind);
  return {names.begin(), names.end()};
}

std::string FlagText(Kind kind, uint32_t flags) {
  std::string text;
  const auto append = [&text](std::string_view word) {
    if (!text.empty()) text += "|";
    text += word;
  };
  for (const FlagName& name : NamesOf(kind)) {
    if ((flags & name.value) != name.value) continue;
    append(name.name);
    flags &= ~name.value;
  }
  if (flags != 0 || text.empty()) append(fmt::format("{:#x}", flags));
  return text;
}

std::string ToText(const Step& step) {
  const auto uses = [&step](FieldBit field) { return Uses(step.kind, field); };
  std::string text;
  if (uses(kResult)) text += fmt::format("@{} = ", step.result);
  text += RowOf(step.kind).text;
  if (step.actor != 0) text += fmt::format(" as={}", step.actor);
  if (uses(kDir)) text += " dir=" + HandleText(step.dir);
  if (uses(kPath)) text += " path=" + QuotedPath(step.path);
  if (uses(kDir2)) text += " dir2=" + HandleText(step.dir2);
  if (uses(kPath2)) text += " path2=" + QuotedPath(step.path2);
  if (uses(kFlags) && step.flags != 0)
    text += " flags=" + FlagText(step.kind, step.flags);
  if (uses(kMode)) text += fmt::format(" mode={:#o}", step.mode);
  if (uses(kChanges)) text += fmt::format(" changes={}", step.changes);
  if (uses(kMask) && !(step.kind == Kind::kReadDirectory && step.mask == 0))
    text += fmt::format(" mask={:#x}", step.mask);
  if (uses(kOffset)) text += fmt::format(" offset={}", step.offset);
  if (uses(kSize)) text += fmt::format(" size={}", step.size);
  if (uses(kOwner)) text += fmt::format(" uid={} gid={}", step.uid, step.gid);
  if (uses(kDevice) && (step.device_major != 0 || step.device_minor != 0)) {
    text +=
        fmt::format(" major={} minor={}", step.device_major, step.device_minor);
  }
  if (uses(kTimes)) {
    text += " atime=" + TimeText(step.atime) + " mtime=" + TimeText(step.mtime);
  }
  if (uses(kResolve)) text += fmt::format(" resolve={:#x}", step.resolve);
  if (step.expected.has_value()) text += " -> " + ErrnoText(*step.expected);
  return text;
}

std::string ToText(const Program& program) {
  std::string text = "program " + program.name + "\n";
  if (program.seed != 0) text += fmt::format("seed {}\n", program.seed);
  if (program.oracle == Oracle::kRamfs) text += "oracle ramfs\n";
  if (program.root_mode != 0755)
    text += fmt::format("root_mode {:#o}\n", program.root_mode);
  if (program.umask != 022) text += fmt::format("umask {:#o}\n", program.umask);
  if (program.ticks) text += "ticks\n";
  for (size_t i = 1; i < program.actors.size(); ++i) {
    const Actor& actor = program.actors[i];
    text += fmt::format("actor {} {}:{}", i, actor.uid, actor.gid);
    for (size_t g = 0; g < actor.groups.size(); ++g)
      text += fmt::format("{}{}", g == 0 ? ':' : ',', actor.groups[g]);
    text += "\n";
  }
  for (const Step& step : program.steps) text += ToText(step) + "\n";
  return text + "end\n";
}

bool ParsePrograms(std::string_view text, std::vector<Program>& programs,
                   std::string& error) {
  size_t number = 0;
  std::optional<Program> program;
  const auto fail = [&](std::string_view what) {
    error = fmt::format("line {}: {}", number, what);
    return false;
  };
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
    if (line.empty() || line.front() == '#') continue;
    std::string_view rest = line;
    const std::string_view word = NextWord(rest);
    if (word == "program") {
      if (program.has_value()) return fail("the program before has no end");
      program.emplace();
      program->name = NextWord(rest);
      continue;
    }
    if (!program.has_value()) return fail("outside of a program");
    bool ok = true;
    if (word == "end") {
      programs.push_back(std::move(*program));
      program.reset();
    } else if (word == "seed") {
      ok = ParseNumber(NextWord(rest), program->seed);
    } else if (word == "oracle") {
      const std::string_view name = NextWord(rest);
      program->oracle = name == "ramfs" ? Oracle::kRamfs : Oracle::kTmpfs;
      ok = name == "ramfs" || name == "tmpfs";
    } else if (word == "root_mode") {
      ok = ParseNumber(NextWord(rest), program->root_mode);
    } else if (word == "umask") {
      ok = ParseNumber(NextWord(rest), program->umask);
    } else if (word == "ticks") {
      program->ticks = true;
    } else if (word == "actor") {
      ok = ParseActor(rest, *program);
    } else {
      ok = ParseStep(line, program->steps.emplace_back());
      if (ok && program->steps.back().actor >= program->actors.size())
        return fail("no such actor");
    }
    if (!ok) return fail(fmt::format("cannot read '{}'", line));
  }
  if (program.has_value()) return fail("the last program has no end");
  return true;
}

}  // namespace vfsd::differential
