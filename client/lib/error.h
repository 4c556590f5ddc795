// Why a call failed: one of three kinds.
//
//   errno      the file system's answer: a Linux error number
//   reason     the service's own answer, such as SESSION_EXPIRED
//   transport  no answer of vfsd at all: a gRPC code (UNAVAILABLE, ...)
//
// Errors come in band (errno_code in a response) or as a gRPC status whose
// grpc-status-details-bin holds a google.rpc.ErrorInfo; both end up here, and
// callers need not know which it was. A plain value.
#ifndef CLIENT_LIB_ERROR_H_
#define CLIENT_LIB_ERROR_H_

#include <grpcpp/support/status.h>

#include <string>
#include <string_view>

namespace vfsclient {

class Error {
 public:
  enum class Kind { kErrno, kReason, kTransport };

  static Error Errno(int number);
  static Error Transport(grpc::StatusCode code, std::string message);
  // `status` must not be OK.
  static Error FromStatus(const grpc::Status& status);

  Kind kind() const { return kind_; }
  // The Linux error number; 0 where the error is of another kind.
  int errno_number() const { return errno_; }
  bool Is(int errno_number) const { return errno_ == errno_number; }
  // "ENOENT", "SESSION_EXPIRED" or "UNAVAILABLE".
  std::string Name() const;
  // The gRPC code that the error came with; OK where it came in band.
  grpc::StatusCode code() const { return code_; }
  // One line for people: "No such file or directory (ENOENT)".
  std::string Text() const;

  friend bool operator==(const Error&, const Error&) = default;

 private:
  Error(Kind kind, int errno_number, grpc::StatusCode code, std::string reason,
        std::string message);

  Kind kind_;
  int errno_ = 0;
  grpc::StatusCode code_;
  std::string reason_;   // kReason only
  std::string message_;  // as the server or gRPC worded it
};

// "UNAVAILABLE" for grpc::StatusCode::UNAVAILABLE; "CODE_77" for a code that
// gRPC does not define.
std::string StatusCodeName(grpc::StatusCode code);

}  // namespace vfsclient

#endif  // CLIENT_LIB_ERROR_H_
