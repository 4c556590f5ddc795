#include "client/load/trace_text.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <array>
#include <memory>

namespace vfsload {
namespace {

constexpr size_t kMaxText = size_t{4} << 30;

}  // namespace

std::expected<TraceText, std::string> ReadTraceText(const std::string& path) {
  const std::unique_ptr<archive, decltype(&archive_read_free)> reader(
      archive_read_new(), &archive_read_free);
  const auto failed = [&] {
    const char* why = archive_error_string(reader.get());
    return std::unexpected(
        fmt::format("cannot read {}: {}", path, why ? why : "unknown error"));
  };
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_read_support_format_empty(reader.get());
  archive_entry* entry = nullptr;
  constexpr size_t kBlock = 1 << 16;
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlock) !=
      ARCHIVE_OK) {
    return failed();
  }
  const int header = archive_read_next_header(reader.get(), &entry);
  if (header == ARCHIVE_EOF) return TraceText{};
  if (header != ARCHIVE_OK) return failed();
  TraceText result;
  std::array<char, kBlock> buffer{};
  while (true) {
    const la_ssize_t got =
        archive_read_data(reader.get(), buffer.data(), buffer.size());
    if (got == 0) return result;
    if (got < 0) {
      const char* why = archive_error_string(reader.get());
      result.damage = why ? why : "damaged";
      return result;
    }
    result.text.append(buffer.data(), static_cast<size_t>(got));
    if (result.text.size() > kMaxText) {
      return std::unexpected(fmt::format("{} is too large", path));
    }
  }
}

}  // namespace vfsload
