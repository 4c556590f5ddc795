#include "client/lib/error.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>

#include "client/lib/errno_table.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace vfsclient {
namespace {

constexpr std::string_view kDomain = "vfs.v1";

constexpr auto kCodeNames = std::to_array<std::string_view>(
    {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED",
     "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
     "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED",
     "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"});

// The reason of the first ErrorInfo of our domain in grpc-status-details-bin.
// Details that do not parse are treated as absent: the code still says enough.
std::optional<std::string> Reason(const std::string& details) {
  google::rpc::Status status;
  if (details.empty() || !status.ParseFromString(details)) return std::nullopt;
  for (const auto& detail : status.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info) && info.domain() == kDomain &&
        !info.reason().empty()) {
      return info.reason();
    }
  }
  return std::nullopt;
}

}  // namespace

Error::Error(Kind kind, int errno_number, grpc::StatusCode code,
             std::string reason, std::string message)
    : kind_(kind),
      errno_(errno_number),
      code_(code),
      reason_(std::move(reason)),
      message_(std::move(message)) {}

Error Error::Errno(int number) {
  return Error(Kind::kErrno, number, grpc::StatusCode::OK, {}, {});
}

Error Error::Transport(grpc::StatusCode code, std::string message) {
  return Error(Kind::kTransport, 0, code, {}, std::move(message));
}

Error Error::FromStatus(const grpc::Status& status) {
  const grpc::StatusCode code = status.error_code();
  const std::optional<std::string> reason = Reason(status.error_details());
  if (!reason) return Transport(code, status.error_message());
  if (const ErrnoEntry* entry = FindErrno(std::string_view(*reason))) {
    return Error(Kind::kErrno, entry->number, code, {}, status.error_message());
  }
  return Error(Kind::kReason, 0, code, *reason, status.error_message());
}

std::string Error::Name() const {
  switch (kind_) {
    case Kind::kErrno:
      return ErrnoName(errno_);
    case Kind::kReason:
      return reason_;
    case Kind::kTransport:
      break;
  }
  return StatusCodeName(code_);
}

std::string Error::Text() const {
  if (kind_ == Kind::kErrno) {
    const ErrnoEntry* entry = FindErrno(errno_);
    return fmt::format("{} ({})",
                       entry != nullptr ? entry->text : "Unknown error",
                       ErrnoName(errno_));
  }
  return message_.empty() ? Name() : fmt::format("{} ({})", message_, Name());
}

std::string StatusCodeName(grpc::StatusCode code) {
  const auto index = static_cast<size_t>(code);
  return index < kCodeNames.size() ? std::string(kCodeNames[index])
                                   : fmt::format("CODE_{}", index);
}

}  // namespace vfsclient
