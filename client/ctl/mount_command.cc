#include "client/ctl/mount_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/lib/address.h"
#include "client/lib/channel.h"
#include "vfs/v1/admin.grpc.pb.h"

namespace vfsctl {
namespace {

using Stub = vfs::v1::AdminService::Stub;

template <class Request, class Response>
std::expected<Response, vfsclient::Error> Ask(
    const GlobalOptions& global,
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                 Response*),
    const Request& request) {
  const auto address = vfsclient::Address::Parse(global.target);
  if (!address) {
    return std::unexpected(vfsclient::Error::Transport(
        grpc::StatusCode::INVALID_ARGUMENT, address.error()));
  }
  const auto channel = vfsclient::Connect(*address, global.timeout);
  if (!channel) return std::unexpected(channel.error());
  const auto stub = vfs::v1::AdminService::NewStub(*channel);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + global.timeout);
  Response response;
  const grpc::Status status = (*stub.*method)(&context, request, &response);
  if (!status.ok()) {
    return std::unexpected(vfsclient::Error::FromStatus(status));
  }
  return response;
}

}  // namespace

ExitStatus RunMount(const GlobalOptions& global, const MountOptions& options) {
  vfs::v1::MountRequest request;
  request.set_path(options.path);
  if (options.remount) {
    request.set_remount(true);
  } else if (!options.bind.empty()) {
    request.set_bind_path(options.bind);
  } else {
    request.set_empty_tree(true);
  }
  request.set_read_only(options.read_only);
  request.set_no_direct_io(options.no_direct_io);
  const auto mounted = Ask(global, &Stub::Mount, request);
  if (!mounted) return Complain("mount", options.path, mounted.error());
  return ExitStatus::kOk;
}

ExitStatus RunUnmount(const GlobalOptions& global,
                      const UnmountOptions& options) {
  vfs::v1::UnmountRequest request;
  request.set_path(options.path);
  request.set_lazy(options.lazy);
  const auto unmounted = Ask(global, &Stub::Unmount, request);
  if (!unmounted) return Complain("unmount", options.path, unmounted.error());
  return ExitStatus::kOk;
}

ExitStatus RunMounts(const GlobalOptions& global,
                     const MountsOptions& options) {
  const auto listed =
      Ask(global, &Stub::ListMounts, vfs::v1::ListMountsRequest());
  if (!listed) return Complain("mounts", "", listed.error());
  if (options.json) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const auto& mount : listed->mounts()) {
      json.push_back({{"mnt_id", mount.mnt_id()},
                      {"path", mount.path()},
                      {"type", mount.type()},
                      {"read_only", mount.read_only()},
                      {"reference_count", mount.reference_count()}});
    }
    fmt::print("{}\n", json.dump(2, ' ', false,
                                 nlohmann::json::error_handler_t::replace));
    return ExitStatus::kOk;
  }
  size_t path = 4;
  for (const auto& mount : listed->mounts()) {
    path = std::max(path, Printable(mount.path()).size());
  }
  fmt::print("{:>4}  {:<{}}  type  mode  in use\n", "id", "path", path);
  for (const auto& mount : listed->mounts()) {
    fmt::print("{:>4}  {:<{}}  {:<4}  {:<4}  {:>6}\n", mount.mnt_id(),
               Printable(mount.path()), path, mount.type(),
               mount.read_only() ? "ro" : "rw", mount.reference_count());
  }
  return ExitStatus::kOk;
}

}  // namespace vfsctl
