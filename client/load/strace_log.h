// The system calls of an strace log, in the order in which they took effect.
//
// Reads what `strace -f` writes (with -o, or to a terminal; with or without -t,
// -tt, -ttt, -T and -y). Calls that were interrupted by another process's line
// ("<unfinished ...>", "<... resumed>") are joined. A plain value.
#ifndef CLIENT_LOAD_STRACE_LOG_H_
#define CLIENT_LOAD_STRACE_LOG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vfsload {

struct Syscall {
  int pid = 0;
  std::string name;
  // As strace wrote them, without the spaces around.
  std::vector<std::string> arguments;
  // The value after "=", -1 with an error, nullopt where it is "?" or missing.
  std::optional<int64_t> result;
  // "ENOENT"; empty on success.
  std::string error;
  // Seconds, where the log has them; of the start.
  std::optional<double> time;
};

// What happened, in order.
struct TraceEvent {
  enum class Kind {
    kBegin,  // `call` starts: it is not known yet what it answers
    kEnd,    // `call` is answered
    kExit,   // process `pid` is gone
  };
  Kind kind;
  int pid;
  size_t call;  // index into StraceLog::calls
};

struct StraceLog {
  std::vector<Syscall> calls;
  std::vector<TraceEvent> events;
  // Lines that are none of strace's.
  size_t strange_lines = 0;
  // Calls that were never answered in the log; "resumed" lines without a
  // beginning.
  size_t unanswered = 0;
  size_t unbegun = 0;
  // Lines about signals.
  size_t signals = 0;

  static StraceLog Parse(std::string_view text);
};

// A string argument without its quotes and escapes. nullopt: it is none, or
// strace cut it short.
std::optional<std::string> StringArgument(std::string_view argument);
// The number of a descriptor argument, "3" or "3</path>"; AT_FDCWD is -100.
std::optional<int> DescriptorArgument(std::string_view argument);
inline constexpr int kCurrentDirectory = -100;
// "O_RDONLY|O_CLOEXEC", "0x80", "0644": the sum of the flags' values. Flags
// whose names are not known count as 0.
uint64_t FlagsArgument(std::string_view argument);

}  // namespace vfsload

#endif  // CLIENT_LOAD_STRACE_LOG_H_
