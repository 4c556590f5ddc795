#include "client/ctl/ls_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/ctl/stat_format.h"
#include "client/lib/path.h"

namespace vfsctl {
namespace {

struct Row {
  std::string name;
  uint32_t d_type = 0;
  vfs::v1::StatResponse attributes;  // with -l only
};

// Columns as wide as the widest entry, as ls -l has them.
void PrintLong(const std::vector<Row>& rows) {
  size_t links = 1, uid = 1, gid = 1, size = 1;
  const auto widen = [](size_t* width, uint64_t value) {
    *width = std::max(*width, fmt::formatted_size("{}", value));
  };
  for (const Row& row : rows) {
    widen(&links, row.attributes.nlink());
    widen(&uid, row.attributes.uid());
    widen(&gid, row.attributes.gid());
    widen(&size, row.attributes.size());
  }
  for (const Row& row : rows) {
    const auto& stat = row.attributes;
    fmt::print(
        "{} {:>{}} {:>{}} {:>{}} {:>{}} {} {}\n", ModeText(stat.mode()),
        stat.nlink(), links, stat.uid(), uid, stat.gid(), gid, stat.size(),
        size,
        TimeText(stat.mtime_seconds(), stat.mtime_nanoseconds()).substr(0, 16),
        Printable(row.name));
  }
}

void PrintRows(const std::vector<Row>& rows, bool long_format) {
  if (long_format) return PrintLong(rows);
  for (const Row& row : rows) fmt::print("{}\n", Printable(row.name));
}

std::expected<void, vfsclient::Error> ListDirectory(
    const vfsclient::Session& session, const std::string& path,
    const LsOptions& options) {
  std::vector<Row> rows;
  const auto listed = session.ReadDirectory(
      path, options.long_format, [&](vfs::v1::ReadDirectoryResponse& page) {
        for (auto& entry : *page.mutable_entries()) {
          const std::string& name = vfsclient::NameOf(entry);
          if (!options.all && name.starts_with('.')) continue;
          rows.push_back(
              {name, entry.type(), std::move(*entry.mutable_attributes())});
        }
        return true;
      });
  if (!listed) return listed;
  std::ranges::sort(rows, {}, &Row::name);
  PrintRows(rows, options.long_format);
  return {};
}

std::expected<void, vfsclient::Error> List(const vfsclient::Session& session,
                                           const std::string& path,
                                           const LsOptions& options,
                                           bool with_heading) {
  const auto stat = session.Stat(path);
  if (!stat) return std::unexpected(stat.error());
  constexpr uint32_t kFormatMask = 0170000, kDirectory = 0040000;
  if ((stat->mode() & kFormatMask) != kDirectory) {
    PrintRows({{path, 0, *stat}}, options.long_format);
    return {};
  }
  if (with_heading) fmt::print("{}:\n", Printable(path));
  return ListDirectory(session, path, options);
}

}  // namespace

ExitStatus RunLs(const GlobalOptions& global, const LsOptions& options) {
  const auto session = OpenSession(global);
  if (!session) return Complain("ls", "", session.error());
  std::vector<std::string> paths = options.paths;
  if (paths.empty()) paths.emplace_back("/");
  ExitStatus result = ExitStatus::kOk;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (i > 0) fmt::print("\n");
    const auto listed = List(*session, paths[i], options, paths.size() > 1);
    if (listed) continue;
    const ExitStatus status = Complain("ls", paths[i], listed.error());
    if (result == ExitStatus::kOk) result = status;
    if (status == ExitStatus::kUnreachable) break;
  }
  return result;
}

}  // namespace vfsctl
