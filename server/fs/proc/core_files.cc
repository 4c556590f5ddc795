#include "server/fs/proc/core_files.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "fmt/format.h"
#include "server/fs/proc/cached_text.h"
#include "server/fs/proc/fixed_file.h"
#include "server/fs/proc/host_file.h"
#include "server/fs/proc/mounts_text.h"
#include "server/fs/proc/sequence_file.h"

namespace vfsd::proc {
namespace {

unsigned Processors() {
  return std::max(1U, std::thread::hardware_concurrency());
}

std::string UptimeText(absl::Time started) {
  rusage usage;
  double busy = 0;
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    busy = absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                                 absl::DurationFromTimeval(usage.ru_stime));
  }
  // A clock that was set back does not make time negative.
  const double up = std::max(0.0, absl::ToDoubleSeconds(absl::Now() - started));
  return fmt::format("{:.2f} {:.2f}\n", up,
                     std::max(0.0, up * Processors() - busy));
}

std::string CpuInfoFallback() {
  std::string text;
  for (unsigned i = 0; i < Processors(); ++i) {
    text += fmt::format("processor\t: {}\n\n", i);
  }
  return text;
}

std::string MemInfoFallback() {
  const int64_t page = std::max(1L, sysconf(_SC_PAGESIZE));
  const int64_t total = std::max(0L, sysconf(_SC_PHYS_PAGES));
  const int64_t free = std::max(0L, sysconf(_SC_AVPHYS_PAGES));
  return fmt::format("MemTotal:       {:8} kB\nMemFree:        {:8} kB\n",
                     total * page / 1024, free * page / 1024);
}

CoreFile Permanent(std::string_view name,
                   std::function<Result<SharedText>()> make) {
  return {.path = std::string(name),
          .attributes = {.permissions = 0444},
          .provider = std::make_unique<SequenceFile>(std::move(make),
                                                     kProviderPermanent)};
}

// What a function tells, told again for `max_age`.
CoreFile PermanentCache(std::string_view name, absl::Duration max_age,
                        std::function<std::string()> make) {
  auto text = std::make_shared<CachedText>(max_age, std::move(make));
  return Permanent(name,
                   [text]() -> Result<SharedText> { return text->Get(); });
}

// A file of the host's, or what can be told where there is none.
CoreFile PermanentCopy(const CoreFilesOptions& options, std::string_view name,
                       std::string (*fallback)()) {
  return PermanentCache(
      name, options.host_max_age,
      [path = fmt::format("{}/{}", options.host_proc, name), fallback] {
        std::optional<std::string> text = ReadHostFile(path);
        return text.has_value() ? *std::move(text) : fallback();
      });
}

// What a function tells at each read.
template <typename Text>
CoreFile PermanentText(std::string_view name, Text text) {
  return Permanent(name, [text = std::move(text)]() -> Result<SharedText> {
    return std::make_shared<const std::string>(text());
  });
}

}  // namespace

std::vector<CoreFile> MakeCoreFiles(CoreFilesOptions options,
                                    const vfs::MountTable& mounts) {
  std::vector<CoreFile> files;
  files.push_back({.path = "version",
                   .attributes = {.permissions = 0444},
                   .provider = std::make_unique<FixedFile>(
                       options.version + "\n", kProviderPermanent)});
  files.push_back(PermanentText(
      "uptime", [started = options.started] { return UptimeText(started); }));
  files.push_back(
      PermanentText("mounts", [&mounts] { return MountsText(mounts); }));
  files.push_back(PermanentCopy(options, "cpuinfo", &CpuInfoFallback));
  files.push_back(PermanentCopy(options, "meminfo", &MemInfoFallback));
  files.push_back(PermanentCache("stat", options.statistics_max_age,
                                 std::move(options.statistics)));
  return files;
}

}  // namespace vfsd::proc
