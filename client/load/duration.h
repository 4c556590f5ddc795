// Durations as people type them: "10s", "500ms", "1m30s", "250us", "1.5s".
// Free functions, no state.
#ifndef CLIENT_LOAD_DURATION_H_
#define CLIENT_LOAD_DURATION_H_

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

namespace vfsload {

// Units: us, ms, s, m, h; a bare "0" needs none. The error is for people.
std::expected<std::chrono::nanoseconds, std::string> ParseDuration(
    std::string_view text);

// "870 us", "12.3 ms", "1.50 s": three digits that matter.
std::string DurationText(std::chrono::nanoseconds duration);

}  // namespace vfsload

#endif  // CLIENT_LOAD_DURATION_H_
