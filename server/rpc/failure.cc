#include "server/rpc/failure.h"

#include <array>
#include <string>
#include <string_view>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace vfsd::rpc {
namespace {

using grpc::StatusCode;

struct ErrnoCode {
  Errno error;
  StatusCode code;
};

// The nearest canonical code to each error number. What is not here is UNKNOWN.
constexpr ErrnoCode kErrnoCodes[] = {
    {Errno::kEPERM, StatusCode::PERMISSION_DENIED},
    {Errno::kENOENT, StatusCode::NOT_FOUND},
    {Errno::kEINTR, StatusCode::UNAVAILABLE},
    {Errno::kEIO, StatusCode::INTERNAL},
    {Errno::kENXIO, StatusCode::FAILED_PRECONDITION},
    {Errno::kE2BIG, StatusCode::INVALID_ARGUMENT},
    {Errno::kEBADF, StatusCode::INVALID_ARGUMENT},
    {Errno::kEAGAIN, StatusCode::UNAVAILABLE},
    {Errno::kENOMEM, StatusCode::RESOURCE_EXHAUSTED},
    {Errno::kEACCES, StatusCode::PERMISSION_DENIED},
    {Errno::kEFAULT, StatusCode::INVALID_ARGUMENT},
    {Errno::kENOTBLK, StatusCode::FAILED_PRECONDITION},
    {Errno::kEBUSY, StatusCode::FAILED_PRECONDITION},
    {Errno::kEEXIST, StatusCode::ALREADY_EXISTS},
    {Errno::kEXDEV, StatusCode::FAILED_PRECONDITION},
    {Errno::kENODEV, StatusCode::FAILED_PRECONDITION},
    {Errno::kENOTDIR, StatusCode::FAILED_PRECONDITION},
    {Errno::kEISDIR, StatusCode::FAILED_PRECONDITION},
    {Errno::kEINVAL, StatusCode::INVALID_ARGUMENT},
    {Errno::kENFILE, StatusCode::RESOURCE_EXHAUSTED},
    {Errno::kEMFILE, StatusCode::RESOURCE_EXHAUSTED},
    {Errno::kENOTTY, StatusCode::FAILED_PRECONDITION},
    {Errno::kETXTBSY, StatusCode::FAILED_PRECONDITION},
    {Errno::kEFBIG, StatusCode::OUT_OF_RANGE},
    {Errno::kENOSPC, StatusCode::RESOURCE_EXHAUSTED},
    {Errno::kESPIPE, StatusCode::FAILED_PRECONDITION},
    {Errno::kEROFS, StatusCode::FAILED_PRECONDITION},
    {Errno::kEMLINK, StatusCode::RESOURCE_EXHAUSTED},
    {Errno::kERANGE, StatusCode::OUT_OF_RANGE},
    {Errno::kEDEADLK, StatusCode::ABORTED},
    {Errno::kENAMETOOLONG, StatusCode::INVALID_ARGUMENT},
    {Errno::kENOSYS, StatusCode::UNIMPLEMENTED},
    {Errno::kENOTEMPTY, StatusCode::FAILED_PRECONDITION},
    {Errno::kELOOP, StatusCode::FAILED_PRECONDITION},
    {Errno::kEOVERFLOW, StatusCode::OUT_OF_RANGE},
    {Errno::kEOPNOTSUPP, StatusCode::UNIMPLEMENTED},
    {Errno::kETIMEDOUT, StatusCode::DEADLINE_EXCEEDED},
    {Errno::kESTALE, StatusCode::FAILED_PRECONDITION},
    {Errno::kEDQUOT, StatusCode::RESOURCE_EXHAUSTED},
    {Errno::kECANCELED, StatusCode::ABORTED},
};

struct ReasonRow {
  Reason reason;
  std::string_view name;
  StatusCode code;
  std::string_view text;
};

// In the order of the enum.
constexpr std::array kReasons = {
    ReasonRow{Reason::kSessionExpired, "SESSION_EXPIRED",
              StatusCode::UNAUTHENTICATED,
              "no such session, or its lease lapsed: open a new one"},
    ReasonRow{Reason::kSessionRequired, "SESSION_REQUIRED",
              StatusCode::UNAUTHENTICATED,
              "this call needs a session: call OpenSession first"},
    ReasonRow{Reason::kDraining, "DRAINING", StatusCode::UNAVAILABLE,
              "the server is shutting down"},
    ReasonRow{Reason::kSessionLimit, "SESSION_LIMIT",
              StatusCode::RESOURCE_EXHAUSTED, "too many sessions are open"},
    ReasonRow{Reason::kBatchTooLarge, "BATCH_TOO_LARGE",
              StatusCode::RESOURCE_EXHAUSTED,
              "more bytes or operations in a message than OpenSession allowed"},
    ReasonRow{Reason::kMalformedRequest, "MALFORMED_REQUEST",
              StatusCode::INVALID_ARGUMENT,
              "the message does not parse, a string in it is not UTF-8, or a "
              "required part is missing"},
    ReasonRow{Reason::kCredentialsDenied, "CREDENTIALS_DENIED",
              StatusCode::PERMISSION_DENIED,
              "the server does not let this peer act for others"},
    ReasonRow{Reason::kServiceUnknown, "SERVICE_UNKNOWN", StatusCode::NOT_FOUND,
              "the server has no such service"},
    ReasonRow{Reason::kUnreadAnswers, "UNREAD_ANSWERS",
              StatusCode::RESOURCE_EXHAUSTED,
              "too many large answers to single calls wait to be read"},
};

constexpr bool EachReasonHasItsRow() {
  for (size_t i = 0; i < kReasons.size(); ++i) {
    if (static_cast<size_t>(kReasons[i].reason) != i) return false;
  }
  return kReasons.back().reason == Reason::kLast;
}
static_assert(EachReasonHasItsRow());

grpc::Status BuildStatus(StatusCode code, std::string_view reason,
                         std::string_view text) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(reason));
  info.set_domain("vfs.v1");
  google::rpc::Status details;
  details.set_code(code);
  details.set_message(std::string(text));
  details.add_details()->PackFrom(info);
  return grpc::Status(code, std::string(text), details.SerializeAsString());
}

std::array<grpc::Status, kErrnoLimit> BuildErrnoStatuses() {
  std::array<grpc::Status, kErrnoLimit> statuses;
  statuses.fill(BuildStatus(StatusCode::UNKNOWN, "EUNKNOWN", "Unknown error"));
  for (const auto& [error, code] : kErrnoCodes) {
    statuses[static_cast<size_t>(error)] =
        BuildStatus(code, ErrnoName(error), ErrnoText(error));
  }
  return statuses;
}

std::array<grpc::Status, kReasons.size()> BuildReasonStatuses() {
  std::array<grpc::Status, kReasons.size()> statuses;
  for (const ReasonRow& row : kReasons) {
    statuses[static_cast<size_t>(row.reason)] =
        BuildStatus(row.code, row.name, row.text);
  }
  return statuses;
}

}  // namespace

const grpc::Status& Failure::status() const {
  static const auto errno_statuses = BuildErrnoStatuses();
  static const auto reason_statuses = BuildReasonStatuses();
  return is_errno() ? errno_statuses[static_cast<size_t>(error_)]
                    : reason_statuses[static_cast<size_t>(reason_)];
}

}  // namespace vfsd::rpc
