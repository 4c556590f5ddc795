// The lines of a trace file, plain or compressed.
//
// libarchive finds out by itself how the file is compressed (gzip, xz, zstd and
// others). A plain function; the whole text is held in memory.
#ifndef CLIENT_LOAD_TRACE_TEXT_H_
#define CLIENT_LOAD_TRACE_TEXT_H_

#include <expected>
#include <string>

namespace vfsload {

struct TraceText {
  std::string text;
  // The file ended too early or is damaged from somewhere on; `text` is what
  // came before. Empty: it is whole.
  std::string damage;
};

// The error is for people.
std::expected<TraceText, std::string> ReadTraceText(const std::string& path);

}  // namespace vfsload

#endif  // CLIENT_LOAD_TRACE_TEXT_H_
