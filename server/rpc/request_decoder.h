// RequestDecoder: encoded requests of vfs.v1 (proto/vfs/v1/vfs.proto says what
// each field means) → OperationRequest. The only place that knows the fields of
// operation requests; unary calls and batches share it.
//
// Thread safety: none; a worker of a queue has one and uses it again.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/rpc/operation_request.h"
#include "server/rpc/wire_reader.h"

namespace vfsd::rpc {

class RequestDecoder {
 public:
  enum class Outcome { kOk, kMalformed, kTooManyOperations };

  // Forgets the credentials of the last message.
  void Clear() { credentials_.clear(); }

  // False: malformed (not parsable, or a string that is not UTF-8).
  template <typename Operation>
  bool Decode(std::string_view message, OperationRequest<Operation>& request);
  bool Decode(std::string_view message, ClaimedCredentials& credentials);

  // `batch` is overwritten; its memory is used again.
  Outcome DecodeBatch(std::string_view message, size_t max_operations,
                      BatchOfRequests& batch);

  // What OperationRequest::credentials counts.
  const std::vector<ClaimedCredentials>& credentials() const {
    return credentials_;
  }

 private:
  template <typename Operation>
  bool DecodeField(const WireField& field,
                   OperationRequest<Operation>& request);
  template <typename Operation>
  bool DecodeAlternative(const WireField& field, AnyOperationRequest& request);
  template <typename... Operations>
  bool DecodeBatchOperation(std::string_view message,
                            AnyOperationRequest& request,
                            OperationList<Operations...>);
  bool DecodeCredentials(const WireField& field, int32_t& index);

  std::vector<ClaimedCredentials> credentials_;
};

}  // namespace vfsd::rpc
