// OperationRequest: a request of the API as the service works with it: the
// core's operation, and what the service itself has to settle before the core
// can run it (session, references to earlier operations of the batch,
// credentials).
//
// Views point into the encoded message, which must outlive the request. All
// types here are trivially destructible: a batch makes and drops thousands.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "server/rpc/column_request.h"
#include "server/rpc/operation_api.h"
#include "server/vfs/operation.h"

namespace vfsd::rpc {

// In a batch: the earlier operation whose handle is meant.
using OperationReference = std::optional<uint32_t>;

// vfs.v1.Credentials.
struct ClaimedCredentials {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups;
};

// What only some requests have.
template <typename Operation>
struct OperationRequestExtras {};
template <>
struct OperationRequestExtras<vfs::ReadOperation> {
  uint32_t size = 0;
};
template <typename Operation>
  requires requires(Operation operation) { operation.new_dir; }
struct OperationRequestExtras<Operation> {
  OperationReference new_reference;  // of new_dir; `reference` is old_dir's
};

template <>
struct OperationRequestExtras<vfs::SetAttributesOperation> {
  // What decides about the operation's times and owner together.
  bool change_owner = false;
  std::optional<int64_t> atime_seconds;
  bool atime_now = false;
  std::optional<int64_t> mtime_seconds;
  bool mtime_now = false;
};

template <typename Operation>
struct OperationRequest : OperationRequestExtras<Operation> {
  static constexpr int32_t kNoCredentials = -1;

  uint64_t session = 0;
  Operation operation;
  // Whose handle the operation's (first) handle is.
  OperationReference reference;
  // Index among the ClaimedCredentials that the decoder collected.
  int32_t credentials = kNoCredentials;
};

// Calls `resolve(reference, handle)` for each handle that the request takes
// from an earlier operation, until it returns false.
template <typename Operation, typename Resolve>
bool ForEachReference(OperationRequest<Operation>& request, Resolve&& resolve) {
  if constexpr (requires { request.operation.new_dir; }) {
    return (!request.reference ||
            resolve(*request.reference, request.operation.old_dir)) &&
           (!request.new_reference ||
            resolve(*request.new_reference, request.operation.new_dir));
  } else if constexpr (requires { request.operation.dir; }) {
    return !request.reference ||
           resolve(*request.reference, request.operation.dir);
  } else {
    return !request.reference ||
           resolve(*request.reference, request.operation.handle);
  }
}

// vfs.v1.BatchOperation; monostate: none is set.
template <typename List>
struct AnyOperationRequestOf;
template <typename... Operations>
struct AnyOperationRequestOf<OperationList<Operations...>> {
  using Type = std::variant<std::monostate, OperationRequest<Operations>...>;
};
using AnyOperationRequest = AnyOperationRequestOf<AllOperations>::Type;
static_assert(std::is_trivially_destructible_v<AnyOperationRequest>);

// vfs.v1.BatchRequest.
struct BatchOfRequests {
  uint64_t session = 0;
  bool stop_on_error = false;
  std::vector<AnyOperationRequest> operations;
  std::vector<ColumnGroup> groups;
};

}  // namespace vfsd::rpc
