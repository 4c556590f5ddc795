#include "server/rpc/admin_methods.h"

#include <optional>

#include "server/vfs/fast_paths.h"

namespace vfsd::rpc {
namespace {

struct FastPathPair {
  ::vfs::v1::FastPath wire;
  vfs::FastPath core;
};

// In the order of the API's enum.
constexpr FastPathPair kFastPaths[] = {
    {::vfs::v1::FAST_PATH_RELEASE_EMPTY, vfs::FastPath::kReleaseEmpty},
    {::vfs::v1::FAST_PATH_OPEN_CONSUME, vfs::FastPath::kOpenConsume},
    {::vfs::v1::FAST_PATH_PERMANENT, vfs::FastPath::kPermanent},
    {::vfs::v1::FAST_PATH_EMPTY_PATH, vfs::FastPath::kEmptyPath},
};

std::optional<vfs::FastPath> FromWire(::vfs::v1::FastPath wire) {
  for (const FastPathPair& pair : kFastPaths) {
    if (pair.wire == wire) return pair.core;
  }
  return std::nullopt;
}

}  // namespace

Outcome<void> SetFastPaths(Backend& backend,
                           const ::vfs::v1::SetFastPathsRequest& request,
                           ::vfs::v1::SetFastPathsResponse& response) {
  // All are checked before the first is switched.
  for (const ::vfs::v1::FastPathSetting& setting : request.settings()) {
    if (!FromWire(setting.fast_path()))
      return std::unexpected(Reason::kMalformedRequest);
  }
  vfs::FastPaths& fast_paths = backend.vfs.fast_paths;
  for (const ::vfs::v1::FastPathSetting& setting : request.settings()) {
    fast_paths.Set(*FromWire(setting.fast_path()), setting.enabled());
  }
  for (const auto& [wire, core] : kFastPaths) {
    ::vfs::v1::FastPathStatus* status = response.add_fast_paths();
    status->set_fast_path(wire);
    status->set_enabled(fast_paths.enabled(core));
    status->set_hits(static_cast<uint64_t>(fast_paths.hits(core)));
  }
  return {};
}

}  // namespace vfsd::rpc
