#include "client/ctl/stat_command.h"

#include <fmt/format.h>

#include "client/ctl/stat_format.h"

namespace vfsctl {

ExitStatus RunStat(const GlobalOptions& global, const StatOptions& options) {
  const auto session = OpenSession(global);
  if (!session) return Complain("stat", "", session.error());
  ExitStatus result = ExitStatus::kOk;
  for (const std::string& path : options.paths) {
    const auto stat = session->Stat(
        path, options.dereference ? 0 : vfs::v1::AT_FLAG_AT_SYMLINK_NOFOLLOW);
    if (!stat) {
      const ExitStatus status = Complain("stat", path, stat.error());
      if (result == ExitStatus::kOk) result = status;
      if (status == ExitStatus::kUnreachable) break;
    } else if (options.json) {
      fmt::print("{}\n", StatJson(path, *stat).dump());
    } else {
      fmt::print("{}", StatText(path, *stat));
    }
  }
  return result;
}

}  // namespace vfsctl
