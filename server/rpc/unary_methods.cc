#include "server/rpc/unary_methods.h"

#include <array>
#include <utility>

#include "server/rpc/admin_methods.h"
#include "server/rpc/health.h"
#include "server/rpc/operation_api.h"
#include "server/rpc/operation_runner.h"
#include "server/rpc/response_encoder.h"
#include "server/rpc/session_methods.h"

namespace vfsd::rpc {
namespace {

// A call that is one operation of the core.
template <typename Operation>
Outcome<void> RunOperationMethod(Worker& worker, std::string_view message) {
  Backend& backend = worker.backend;
  worker.decoder.Clear();
  OperationRequest<Operation> request;
  if (!worker.decoder.Decode(message, request)) {
    return std::unexpected(Reason::kMalformedRequest);
  }
  const Outcome<vfs::SessionRef> session =
      backend.FindSession(request.session, OperationApi<Operation>::kAnonymous);
  if (!session.has_value()) return std::unexpected(session.error());

  const auto run = [&]() -> Outcome<void> {
    // There is no batch whose operation could be meant.
    if (!ForEachReference(request, [](uint32_t, auto&) { return false; })) {
      return std::unexpected(Errno::kEINVAL);
    }
    vfs::Caller caller(**session);
    if (request.credentials >= 0) {
      Outcome<vfs::CredentialsRef> credentials =
          backend.policy.Claim(worker.decoder.credentials().front());
      if (!credentials.has_value()) return std::unexpected(credentials.error());
      caller.credentials = *std::move(credentials);
    }
    const Errno error = RunOperation<BareFrame>(
        backend.executor, caller, request, backend.limits.max_message_bytes,
        worker.writer);
    if (error != Errno::kOk) return std::unexpected(error);
    return {};
  };
  Outcome<void> outcome = run();
  if (!outcome.has_value() && outcome.error().is_errno() &&
      (*session)->errors_in_band()) {
    EncodeErrno(worker.writer, outcome.error().error());
    return {};
  }
  return outcome;
}

// A call whose messages are handled as objects: those that are rare.
template <typename Request, typename Response,
          Outcome<void> (*handle)(Backend&, const Request&, Response&)>
Outcome<void> RunMessageMethod(Worker& worker, std::string_view message) {
  worker.arena.Reset();
  auto* request =
      google::protobuf::Arena::CreateMessage<Request>(&worker.arena);
  auto* response =
      google::protobuf::Arena::CreateMessage<Response>(&worker.arena);
  if (!request->ParseFromArray(message.data(),
                               static_cast<int>(message.size()))) {
    return std::unexpected(Reason::kMalformedRequest);
  }
  if (Outcome<void> outcome = handle(worker.backend, *request, *response);
      !outcome.has_value()) {
    return outcome;
  }
  const size_t size = response->ByteSizeLong();
  worker.writer.Ensure(size);
  response->SerializeWithCachedSizesToArray(worker.writer.cursor());
  worker.writer.Skip(size);
  return {};
}

constexpr std::string_view kVfsService = "vfs.v1.VfsService";
constexpr std::string_view kAdminService = "vfs.v1.AdminService";

constexpr std::array kMessageMethods = {
    UnaryMethod{
        kVfsService, "OpenSession",
        &RunMessageMethod<::vfs::v1::OpenSessionRequest,
                          ::vfs::v1::OpenSessionResponse, &OpenSession>},
    UnaryMethod{kVfsService, "KeepAlive",
                &RunMessageMethod<::vfs::v1::KeepAliveRequest,
                                  ::vfs::v1::KeepAliveResponse, &KeepAlive>},
    UnaryMethod{
        kVfsService, "CloseSession",
        &RunMessageMethod<::vfs::v1::CloseSessionRequest,
                          ::vfs::v1::CloseSessionResponse, &CloseSession>},
    UnaryMethod{
        kAdminService, "SetFastPaths",
        &RunMessageMethod<::vfs::v1::SetFastPathsRequest,
                          ::vfs::v1::SetFastPathsResponse, &SetFastPaths>},
    UnaryMethod{kAdminService, "Mount",
                &RunMessageMethod<::vfs::v1::MountRequest,
                                  ::vfs::v1::MountResponse, &MountTree>},
    UnaryMethod{kAdminService, "Unmount",
                &RunMessageMethod<::vfs::v1::UnmountRequest,
                                  ::vfs::v1::UnmountResponse, &UnmountTree>},
    UnaryMethod{kAdminService, "ListMounts",
                &RunMessageMethod<::vfs::v1::ListMountsRequest,
                                  ::vfs::v1::ListMountsResponse, &ListMounts>},
    UnaryMethod{kHealthService, "Check", &RunHealthCheck, /*refusable=*/false},
};

template <typename... Operations>
constexpr auto MakeTable(OperationList<Operations...>) {
  std::array<UnaryMethod, kMessageMethods.size() + sizeof...(Operations)>
      table{};
  size_t rows = 0;
  for (const UnaryMethod& method : kMessageMethods) table[rows++] = method;
  ((table[rows++] = UnaryMethod{kVfsService, OperationApi<Operations>::kMethod,
                                &RunOperationMethod<Operations>}),
   ...);
  return table;
}

constexpr auto kTable = MakeTable(AllOperations());

}  // namespace

std::span<const UnaryMethod> UnaryMethods() { return kTable; }

}  // namespace vfsd::rpc
