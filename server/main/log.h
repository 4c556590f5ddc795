// The log: to stderr, a line an event, never one a request. As text for people
//   2026-12-01T00:57:39.576+00:00 info vfsd 0.1.0 starts
// or as one JSON object a line for collectors
//   {"time":"2026-12-01T00:57:39.576+00:00","level":"info","message":"vfsd
//   0.1.0 starts"}
// Times are the machine's, with the offset from UTC.
#pragma once

#include <string>

namespace vfsd {

// level: trace, debug, info, warn, error or off; format: text or json. Once, at
// the start; afterwards anyone may log, on any thread.
void SetUpLog(const std::string& level, const std::string& format);

}  // namespace vfsd
