#include "server/vfs/fast_paths.h"

namespace vfsd::vfs {

std::string_view FastPathName(FastPath path) {
  switch (path) {
    case FastPath::kReleaseEmpty:
      return "release-empty";
    case FastPath::kOpenConsume:
      return "open-consume";
    case FastPath::kPermanent:
      return "permanent";
    case FastPath::kEmptyPath:
      return "empty-path";
  }
  return "unknown";
}

std::optional<FastPath> FastPathFromName(std::string_view name) {
  for (FastPath path : kAllFastPaths) {
    if (FastPathName(path) == name) return path;
  }
  return std::nullopt;
}

std::optional<FastPathSet> FastPathSet::Parse(std::string_view list) {
  if (list == "all") return All();
  if (list == "none") return None();
  uint32_t bits = 0;
  for (;;) {
    const size_t comma = list.find(',');
    const std::optional<FastPath> path =
        FastPathFromName(list.substr(0, comma));
    if (!path.has_value()) return std::nullopt;
    bits |= 1U << static_cast<unsigned>(*path);
    if (comma == std::string_view::npos) return FastPathSet(bits);
    list.remove_prefix(comma + 1);
  }
}

}  // namespace vfsd::vfs
