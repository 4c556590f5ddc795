#include "server/fs/proc/statistics_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "fmt/format.h"
#include "server/base/errno.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/operation.h"

namespace vfsd::proc {
namespace {

constexpr std::array kErrors = {
#define VFSD_PROC_ERRNO(name, value, text) Errno::k##name,
    VFSD_ERRNO_TABLE(VFSD_PROC_ERRNO)
#undef VFSD_PROC_ERRNO
};

class Lines {
 public:
  void Add(std::string_view name, uint64_t value) {
    fmt::format_to(std::back_inserter(text_), "{} {}\n", name, value);
  }
  // Sums of counters under way can be short of zero for a moment.
  void Add(std::string_view name, int64_t value) {
    Add(name, static_cast<uint64_t>(std::max<int64_t>(value, 0)));
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string StatisticsText(const vfs::Vfs& vfs,
                           const vfs::OperationCounters& operations,
                           const vfs::SessionTable& sessions) {
  Lines lines;
  for (size_t i = 0; i < vfs::kOperationKindCount; ++i) {
    const auto kind = static_cast<vfs::OperationKind>(i);
    uint64_t errors = 0;
    for (const Errno error : kErrors) errors += operations.Ended(kind, error);
    const std::string name =
        fmt::format("operations_{}", vfs::OperationKindName(kind));
    lines.Add(name, operations.Ended(kind, Errno::kOk) + errors);
    lines.Add(name + "_errors", errors);
  }
  lines.Add("sessions", uint64_t{sessions.size()});
  lines.Add("open_handles", sessions.open_handles());
  lines.Add("open_files", vfs.files.nr_files());
  lines.Add("deferred_files_total", vfs.files.deferred_total());
  lines.Add("never_opened_extra_references_total",
            vfs.files.extra_references_total());
  lines.Add("fast_walks_total", vfs.fast_walks.Sum());
  lines.Add("locked_walks_total", vfs.locked_walks.Sum());
  lines.Add("mounts", uint64_t{vfs.mounts.size()});
  for (size_t i = 0; i < vfs::kObjectKindCount; ++i) {
    const auto kind = static_cast<vfs::ObjectKind>(i);
    lines.Add(fmt::format("objects_{}", vfs::ObjectKindName(kind)),
              vfs::live_objects::Count(kind));
  }
  for (const vfs::FastPath path : vfs::kAllFastPaths) {
    std::string name(vfs::FastPathName(path));
    std::replace(name.begin(), name.end(), '-', '_');
    lines.Add(fmt::format("fast_path_{}_enabled", name),
              uint64_t{vfs.fast_paths.enabled(path)});
    lines.Add(fmt::format("fast_path_{}_hits", name),
              vfs.fast_paths.hits(path));
    lines.Add(fmt::format("fast_path_{}_general", name),
              vfs.fast_paths.general(path));
  }
  return lines.Take();
}

}  // namespace vfsd::proc
