// What every command of vfsctl shares: whom it talks to and as whom, how it
// reports an error, and its exit status. Plain values and free functions; a
// command runs once, on one thread.
#ifndef CLIENT_CTL_COMMAND_H_
#define CLIENT_CTL_COMMAND_H_

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "client/lib/error.h"
#include "client/lib/session.h"

namespace vfsctl {

enum class ExitStatus {
  kOk = 0,
  kError = 1,        // the server said no: ENOENT, not serving, ...
  kUsage = 2,        // the command line makes no sense
  kUnreachable = 3,  // no answer of the server
};

struct GlobalOptions {
  std::string target = "127.0.0.1:9150";
  // Both absent: the server's anonymous caller.
  std::optional<uint32_t> uid;
  std::optional<uint32_t> gid;
  std::chrono::milliseconds timeout{5'000};
};

// Opens a session as the options say.
std::expected<vfsclient::Session, vfsclient::Error> OpenSession(
    const GlobalOptions& options);

// Prints "vfsctl: stat: /x: No such file or directory (ENOENT)" to stderr;
// `subject` may be empty. Returns the exit status that fits.
ExitStatus Complain(std::string_view command, std::string_view subject,
                    const vfsclient::Error& error);

// A name as a terminal can bear it: control characters, and bytes that are not
// UTF-8, as \ooo.
std::string Printable(std::string_view name);

}  // namespace vfsctl

#endif  // CLIENT_CTL_COMMAND_H_
