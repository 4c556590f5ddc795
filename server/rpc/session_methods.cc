#include "server/rpc/session_methods.h"

#include <utility>

#include "absl/time/time.h"
#include "server/vfs/recent_answers.h"

namespace vfsd::rpc {
namespace {

constexpr uint32_t kPermissionMask = 0777;

uint32_t Milliseconds(absl::Duration duration) {
  return static_cast<uint32_t>(absl::ToInt64Milliseconds(duration));
}

Outcome<vfs::CredentialsRef> CredentialsOf(
    const CredentialsPolicy& policy,
    const ::vfs::v1::OpenSessionRequest& request) {
  if (!request.has_credentials()) return policy.Anonymous();
  const ::vfs::v1::Credentials& claimed = request.credentials();
  return policy.Claim(
      {.uid = claimed.uid(),
       .gid = claimed.gid(),
       .groups = {claimed.groups().begin(), claimed.groups().end()}});
}

Outcome<vfs::SessionRef> Open(Backend& backend,
                              const ::vfs::v1::OpenSessionRequest& request) {
  Outcome<vfs::CredentialsRef> credentials =
      CredentialsOf(backend.policy, request);
  if (!credentials.has_value()) return std::unexpected(credentials.error());
  vfs::SessionOptions options;
  options.credentials = *std::move(credentials);
  if (request.has_umask()) options.umask = request.umask() & kPermissionMask;
  options.lease = absl::Milliseconds(request.lease_milliseconds());
  options.errors_in_band = request.errors_in_band();
  options.client_name = request.client_name();
  Result<vfs::SessionRef> session = backend.sessions.Open(std::move(options));
  if (session.has_value()) return *std::move(session);
  // ENFILE is the table's limit, not one of open files.
  if (session.error() == Errno::kENFILE)
    return std::unexpected(Reason::kSessionLimit);
  return std::unexpected(session.error());
}

}  // namespace

Outcome<void> OpenSession(Backend& backend,
                          const ::vfs::v1::OpenSessionRequest& request,
                          ::vfs::v1::OpenSessionResponse& response) {
  if (backend.draining.load(std::memory_order_relaxed))
    return std::unexpected(Reason::kDraining);
  const Outcome<vfs::SessionRef> session = Open(backend, request);
  if (!session.has_value()) {
    if (!session.error().is_errno() || !request.errors_in_band()) {
      return std::unexpected(session.error());
    }
    response.set_errno_code(static_cast<int32_t>(session.error().error()));
    return {};
  }
  response.set_session((*session)->id());
  response.set_session_number((*session)->number());
  response.set_lease_milliseconds(Milliseconds((*session)->lease()));
  response.set_boot_epoch(backend.boot_epoch);
  response.set_max_handles((*session)->files().max_handles());
  response.set_max_batch_operations(backend.limits.max_batch_operations);
  response.set_max_message_bytes(backend.limits.max_message_bytes);
  response.set_remembered_answers(vfs::RecentAnswers::kCapacity);
  response.set_server_version(backend.version);
  return {};
}

Outcome<void> KeepAlive(Backend& backend,
                        const ::vfs::v1::KeepAliveRequest& request,
                        ::vfs::v1::KeepAliveResponse& response) {
  // Finding it renews it.
  const Outcome<vfs::SessionRef> session =
      backend.FindSession(request.session(), false);
  if (!session.has_value()) return std::unexpected(session.error());
  response.set_lease_milliseconds(Milliseconds((*session)->lease()));
  return {};
}

Outcome<void> CloseSession(Backend& backend,
                           const ::vfs::v1::CloseSessionRequest& request,
                           ::vfs::v1::CloseSessionResponse& response) {
  if (request.session() == 0) return std::unexpected(Reason::kSessionRequired);
  uint32_t closed_handles = 0;
  if (!backend.sessions.Close(request.session(), &closed_handles)) {
    return std::unexpected(Reason::kSessionExpired);
  }
  response.set_closed_handles(closed_handles);
  return {};
}

}  // namespace vfsd::rpc
