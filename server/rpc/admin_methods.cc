#include "server/rpc/admin_methods.h"

#include <memory>
#include <optional>
#include <string>

#include "server/fs/mem/mem_file_system.h"
#include "server/sync/rcu.h"
#include "server/vfs/fast_paths.h"
#include "server/vfs/mount_at.h"

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

namespace {

Outcome<void> Answer(Errno error) {
  if (error != Errno::kOk) return std::unexpected(error);
  return {};
}

}  // namespace

Outcome<void> MountTree(Backend& backend,
                        const ::vfs::v1::MountRequest& request,
                        ::vfs::v1::MountResponse&) {
  vfs::MountOptions options;
  options.read_only = request.read_only();
  options.no_direct_io = request.no_direct_io();
  switch (request.source_case()) {
    case ::vfs::v1::MountRequest::kEmptyTree:
      return Answer(vfs::MountAt(backend.vfs, request.path(),
                                 std::make_shared<mem::MemFileSystem>(),
                                 options));
    case ::vfs::v1::MountRequest::kBindPath:
      return Answer(vfs::BindAt(backend.vfs, request.bind_path(),
                                request.path(), options));
    case ::vfs::v1::MountRequest::kRemount:
      return Answer(
          vfs::RemountAt(backend.vfs, request.path(), request.read_only()));
    case ::vfs::v1::MountRequest::SOURCE_NOT_SET:
      break;
  }
  return std::unexpected(Reason::kMalformedRequest);
}

Outcome<void> UnmountTree(Backend& backend,
                          const ::vfs::v1::UnmountRequest& request,
                          ::vfs::v1::UnmountResponse&) {
  return Answer(vfs::UnmountAt(backend.vfs, request.path(), request.lazy()));
}

Outcome<void> ListMounts(Backend& backend, const ::vfs::v1::ListMountsRequest&,
                         ::vfs::v1::ListMountsResponse& response) {
  // The mounts stay as long as the section lasts.
  const sync::RcuReadSection section;
  for (const vfs::Mount* mount : backend.vfs.mounts.List()) {
    ::vfs::v1::MountStatus* status = response.add_mounts();
    status->set_mnt_id(mount->id());
    status->set_path(mount->path());
    status->set_type(std::string(mount->file_system().traits().type_name));
    status->set_read_only(mount->read_only());
    status->set_reference_count(mount->references());
  }
  return {};
}

}  // namespace vfsd::rpc
