// BatchRunner: one message of a Batch stream: decodes it whole, then runs its
// operations in order and writes their results. It knows nothing of streams.
//
// Nothing of a message runs unless all of it is well formed and allowed.
//
// Thread safety: none; a worker of a queue has one and uses its memory again,
// which is bounded by the limits.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "server/rpc/backend.h"
#include "server/rpc/column_runner.h"
#include "server/rpc/failure.h"
#include "server/rpc/operation_request.h"
#include "server/rpc/request_decoder.h"
#include "server/rpc/wire_writer.h"

namespace vfsd::rpc {

class BatchRunner {
 public:
  explicit BatchRunner(Backend& backend)
      : backend_(backend),
        columns_(backend.executor, backend.limits.max_message_bytes) {}

  // session: the stream's; 0 before its first message, which sets it. Writes a
  // BatchResponse and returns how many results, unless the batch as a whole
  // fails.
  Outcome<size_t> Run(std::string_view message, uint64_t& session,
                      WireWriter& writer);

 private:
  template <typename Operation>
  Errno RunOne(const vfs::Caller& caller, OperationRequest<Operation>& request,
               size_t index, WireWriter& writer);
  Errno RunOne(const vfs::Caller& caller, std::monostate none, size_t index,
               WireWriter& writer);
  Outcome<void> ResolveCredentials();
  // How much of the response's limit is left.
  size_t Room(const WireWriter& writer) const;

  Backend& backend_;
  RequestDecoder decoder_;
  BatchOfRequests batch_;
  ColumnRunner columns_;
  // By operation: the handle that it opened, 0 for none.
  std::vector<vfs::Handle> opened_;
  // What the decoder's credentials stand for.
  std::vector<vfs::CredentialsRef> credentials_;
};

}  // namespace vfsd::rpc
