// Failure: why a call has no result, and THE table of how that is told: every
// Linux error number and every reason of the service's own, with its canonical
// gRPC code, message and google.rpc.ErrorInfo.
#pragma once

#include <grpcpp/support/status.h>

#include <cstdint>
#include <expected>

#include "server/base/errno.h"

namespace vfsd::rpc {

// Reasons that are no Linux error: always a gRPC status, never in band.
enum class Reason : uint8_t {
  kSessionExpired,
  kSessionRequired,
  kDraining,
  kSessionLimit,
  kBatchTooLarge,
  kMalformedRequest,
  kCredentialsDenied,
  kServiceUnknown,
  kUnreadAnswers,
  kLast = kUnreadAnswers,
};

class Failure {
 public:
  // Implicit: a failure is one or the other.
  Failure(Errno error)
      : error_(error) {}  // NOLINT(google-explicit-constructor)
  Failure(Reason reason)
      : reason_(reason) {}  // NOLINT(google-explicit-constructor)

  bool is_errno() const { return error_ != Errno::kOk; }
  Errno error() const { return error_; }

  // The prebuilt status, with ErrorInfo in its details.
  const grpc::Status& status() const;

 private:
  Errno error_ = Errno::kOk;
  Reason reason_ = Reason::kMalformedRequest;
};

template <typename T>
using Outcome = std::expected<T, Failure>;

}  // namespace vfsd::rpc
