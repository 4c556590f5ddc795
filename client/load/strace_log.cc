#include "client/load/strace_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>
#include <utility>

namespace vfsload {
namespace {

constexpr std::string_view kUnfinished = "<unfinished ...>";
constexpr std::string_view kResumed = " resumed>";

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsName(std::string_view text) {
  return !text.empty() && !IsDigit(text[0]) &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  IsDigit(c) || c == '_';
         });
}

// Takes a number and the spaces behind it off the front.
std::optional<int> TakeNumber(std::string_view* text) {
  int number = 0;
  const auto [end, error] =
      std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc() || end == text->data()) return std::nullopt;
  const auto length = static_cast<size_t>(end - text->data());
  if (length == text->size() || (*text)[length] != ' ') return std::nullopt;
  *text = Trim(text->substr(length));
  return number;
}

// "12:00:01", "12:00:01.123456" or "1700000000.123456", taken off the front.
std::optional<double> TakeTime(std::string_view* text) {
  const size_t space = text->find(' ');
  if (space == std::string_view::npos || !IsDigit(text->front())) {
    return std::nullopt;
  }
  std::string_view word = text->substr(0, space);
  if (word.find_first_not_of("0123456789:.") != std::string_view::npos ||
      word.find_first_of(":.") == std::string_view::npos) {
    return std::nullopt;
  }
  double seconds = 0;
  while (!word.empty()) {
    const size_t colon = word.find(':');
    double part = 0;
    const std::string_view digits = word.substr(0, colon);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), part);
    if (error != std::errc()) return std::nullopt;
    seconds = seconds * 60 + part;
    if (colon == std::string_view::npos) break;
    word.remove_prefix(colon + 1);
  }
  *text = Trim(text->substr(space));
  return seconds;
}

// Splits "a, {b, c}) = 3" into arguments; returns what follows the closing
// parenthesis, nullopt if there is none.
std::optional<std::string_view> SplitArguments(
    std::string_view text, std::vector<std::string>* arguments) {
  size_t begin = 0;
  int depth = 0;
  bool quoted = false, comment = false;
  const auto take = [&](size_t end) {
    const std::string_view argument = Trim(text.substr(begin, end - begin));
    if (!argument.empty()) arguments->emplace_back(argument);
    begin = end + 1;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        quoted = false;
      }
      continue;
    }
    if (comment) {
      if (text.substr(i).starts_with("*/")) comment = false;
      continue;
    }
    switch (c) {
      case '"':
        quoted = true;
        break;
      case '/':
        comment = text.substr(i).starts_with("/*");
        break;
      case '(':
      case '[':
      case '{':
        ++depth;
        break;
      case ')':
        if (depth == 0) {
          take(i);
          return text.substr(i + 1);
        }
        --depth;
        break;
      case ']':
      case '}':
        --depth;
        break;
      case ',':
        if (depth == 0) take(i);
        break;
      default:
        break;
    }
  }
  return std::nullopt;
}

// " = -1 ENOENT (No such file or directory) <0.000012>".
void ParseResult(std::string_view text, Syscall* call) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return;
  text = Trim(text.substr(equals + 1));
  int64_t value = 0;
  const bool hex = text.starts_with("0x");
  const std::string_view digits = hex ? text.substr(2) : text;
  const auto [end, error] = std::from_chars(
      digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (error != std::errc()) return;
  call->result = value;
  if (value != -1) return;
  std::string_view rest =
      Trim(digits.substr(static_cast<size_t>(end - digits.data())));
  const std::string_view name = rest.substr(0, rest.find(' '));
  if (name.starts_with('E') && IsName(name)) call->error = name;
}

class LogParser {
 public:
  void TakeLine(std::string_view line) {
    line = Trim(line);
    if (line.empty()) return;
    int pid = 0;
    if (line.starts_with("[pid")) {
      line = Trim(line.substr(4));
      const size_t close = line.find(']');
      const auto [end, error] =
          std::from_chars(line.data(), line.data() + line.size(), pid);
      if (close == std::string_view::npos || error != std::errc() ||
          end != line.data() + close) {
        ++log.strange_lines;
        return;
      }
      line = Trim(line.substr(close + 1));
    } else if (const auto number = TakeNumber(&line)) {
      pid = *number;
    }
    if (line.empty()) {
      ++log.strange_lines;
      return;
    }
    const std::optional<double> time = TakeTime(&line);
    if (line.starts_with("+++ ")) {
      log.events.push_back({TraceEvent::Kind::kExit, pid, 0});
    } else if (line.starts_with("--- ") || line.starts_with("strace: ")) {
      ++log.signals;
    } else if (line.starts_with("<... ")) {
      Resume(pid, line);
    } else {
      Begin(pid, time, line);
    }
  }

  void Finish() { log.unanswered += pending_.size(); }

  StraceLog log;

 private:
  struct Pending {
    size_t call;
    std::string text;  // arguments so far
  };

  void Begin(int pid, std::optional<double> time, std::string_view line) {
    const size_t open = line.find('(');
    if (open == std::string_view::npos || !IsName(line.substr(0, open))) {
      ++log.strange_lines;
      return;
    }
    Syscall call;
    call.pid = pid;
    call.name = line.substr(0, open);
    call.time = time;
    std::string_view rest = line.substr(open + 1);
    if (rest.ends_with(kUnfinished)) {
      rest.remove_suffix(kUnfinished.size());
      // What is there of the arguments, for those who need it at the start.
      SplitArguments(std::string(rest) + ")", &call.arguments);
      const size_t index = Add(std::move(call));
      if (pending_.contains(pid)) ++log.unanswered;
      pending_[pid] = {index, std::string(rest)};
      log.events.push_back({TraceEvent::Kind::kBegin, pid, index});
      return;
    }
    const auto result = SplitArguments(rest, &call.arguments);
    if (!result || result->find('=') == std::string_view::npos) {
      ++log.strange_lines;
      return;
    }
    ParseResult(*result, &call);
    const size_t index = Add(std::move(call));
    log.events.push_back({TraceEvent::Kind::kBegin, pid, index});
    log.events.push_back({TraceEvent::Kind::kEnd, pid, index});
  }

  void Resume(int pid, std::string_view line) {
    const size_t resumed = line.find(kResumed);
    if (resumed == std::string_view::npos) {
      ++log.strange_lines;
      return;
    }
    const auto found = pending_.find(pid);
    if (found == pending_.end()) {
      ++log.unbegun;
      return;
    }
    const Pending pending = std::move(found->second);
    pending_.erase(found);
    Syscall& call = log.calls[pending.call];
    call.arguments.clear();
    const std::string text =
        pending.text + std::string(line.substr(resumed + kResumed.size()));
    const auto result = SplitArguments(text, &call.arguments);
    if (!result) {
      ++log.strange_lines;
      ++log.unanswered;
      return;
    }
    ParseResult(*result, &call);
    log.events.push_back({TraceEvent::Kind::kEnd, pid, pending.call});
  }

  size_t Add(Syscall call) {
    log.calls.push_back(std::move(call));
    return log.calls.size() - 1;
  }

  std::unordered_map<int, Pending> pending_;
};

// Linux's numbers (asm-generic, x86-64).
using Flag = std::pair<std::string_view, uint64_t>;
constexpr auto kFlags = std::to_array<Flag>({
    {"O_WRONLY", 1},
    {"O_RDWR", 2},
    {"O_CREAT", 0100},
    {"O_EXCL", 0200},
    {"O_NOCTTY", 0400},
    {"O_TRUNC", 01000},
    {"O_APPEND", 02000},
    {"O_NONBLOCK", 04000},
    {"O_DSYNC", 010000},
    {"O_DIRECT", 040000},
    {"O_LARGEFILE", 0100000},
    {"O_DIRECTORY", 0200000},
    {"O_NOFOLLOW", 0400000},
    {"O_NOATIME", 01000000},
    {"O_CLOEXEC", 02000000},
    {"O_SYNC", 04010000},
    {"O_PATH", 010000000},
    {"O_TMPFILE", 020200000},
    {"AT_SYMLINK_NOFOLLOW", 0x100},
    {"AT_EACCESS", 0x200},
    {"AT_REMOVEDIR", 0x200},
    {"AT_SYMLINK_FOLLOW", 0x400},
    {"AT_NO_AUTOMOUNT", 0x800},
    {"AT_EMPTY_PATH", 0x1000},
    {"AT_STATX_FORCE_SYNC", 0x2000},
    {"AT_STATX_DONT_SYNC", 0x4000},
    {"R_OK", 4},
    {"W_OK", 2},
    {"X_OK", 1},
    {"S_IFSOCK", 0140000},
    {"S_IFLNK", 0120000},
    {"S_IFREG", 0100000},
    {"S_IFBLK", 0060000},
    {"S_IFDIR", 0040000},
    {"S_IFCHR", 0020000},
    {"S_IFIFO", 0010000},
    {"S_ISUID", 04000},
    {"S_ISGID", 02000},
    {"S_ISVTX", 01000},
    {"STATX_ALL", 0xfff},
    {"STATX_BASIC_STATS", 0x7ff},
    {"STATX_TYPE", 1},
    {"STATX_MODE", 2},
    {"STATX_NLINK", 4},
    {"STATX_UID", 8},
    {"STATX_GID", 0x10},
    {"STATX_ATIME", 0x20},
    {"STATX_MTIME", 0x40},
    {"STATX_CTIME", 0x80},
    {"STATX_INO", 0x100},
    {"STATX_SIZE", 0x200},
    {"STATX_BLOCKS", 0x400},
    {"STATX_BTIME", 0x800},
    {"STATX_MNT_ID", 0x1000},
    {"RENAME_NOREPLACE", 1},
    {"RENAME_EXCHANGE", 2},
    {"FD_CLOEXEC", 1},
    {"CLONE_FS", 0x200},
    {"CLONE_FILES", 0x400},
    {"CLOSE_RANGE_UNSHARE", 2},
    {"CLOSE_RANGE_CLOEXEC", 4},
    {"RESOLVE_NO_XDEV", 1},
    {"RESOLVE_NO_MAGICLINKS", 2},
    {"RESOLVE_NO_SYMLINKS", 4},
    {"RESOLVE_BENEATH", 8},
    {"RESOLVE_IN_ROOT", 16},
    {"RESOLVE_CACHED", 32},
});

uint64_t FlagValue(std::string_view word) {
  if (word.empty()) return 0;
  if (IsDigit(word[0])) {
    uint64_t value = 0;
    const int base = word.starts_with("0x") ? 16 : word[0] == '0' ? 8 : 10;
    if (base == 16) word.remove_prefix(2);
    std::from_chars(word.data(), word.data() + word.size(), value, base);
    return value;
  }
  const auto found = std::ranges::find(kFlags, word, &Flag::first);
  return found == kFlags.end() ? 0 : found->second;
}

}  // namespace

StraceLog StraceLog::Parse(std::string_view text) {
  LogParser parser;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    parser.TakeLine(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  parser.Finish();
  return std::move(parser.log);
}

std::optional<std::string> StringArgument(std::string_view argument) {
  if (argument.size() < 2 || !argument.starts_with('"') ||
      !argument.ends_with('"')) {
    return std::nullopt;
  }
  argument = argument.substr(1, argument.size() - 2);
  std::string text;
  for (size_t i = 0; i < argument.size(); ++i) {
    if (argument[i] != '\\' || i + 1 == argument.size()) {
      text += argument[i];
      continue;
    }
    const char c = argument[++i];
    constexpr std::string_view kFrom = "ntrvfab", kTo = "\n\t\r\v\f\a\b";
    if (const size_t known = kFrom.find(c); known != kFrom.npos) {
      text += kTo[known];
    } else if (c == 'x' || (c >= '0' && c <= '7')) {
      const int base = c == 'x' ? 16 : 8;
      const size_t begin = c == 'x' ? i + 1 : i;
      const size_t most =
          std::min(argument.size(), begin + (base == 16 ? 2 : 3));
      unsigned value = 0;
      const auto [end, error] = std::from_chars(
          argument.data() + begin, argument.data() + most, value, base);
      if (error != std::errc()) return std::nullopt;
      text += static_cast<char>(value);
      i = static_cast<size_t>(end - argument.data()) - 1;
    } else {
      text += c;
    }
  }
  return text;
}

std::optional<int> DescriptorArgument(std::string_view argument) {
  if (argument.starts_with("AT_FDCWD")) return kCurrentDirectory;
  int number = 0;
  const auto [end, error] = std::from_chars(
      argument.data(), argument.data() + argument.size(), number);
  if (error != std::errc()) return std::nullopt;
  const auto length = static_cast<size_t>(end - argument.data());
  if (length < argument.size() && argument[length] != '<') return std::nullopt;
  return number;
}

uint64_t FlagsArgument(std::string_view argument) {
  uint64_t value = 0;
  while (true) {
    const size_t bar = argument.find('|');
    std::string_view word = Trim(argument.substr(0, bar));
    word = word.substr(0, word.find(' '));  // "0x100 /* AT_??? */"
    value |= FlagValue(word);
    if (bar == std::string_view::npos) return value;
    argument.remove_prefix(bar + 1);
  }
}

}  // namespace vfsload
