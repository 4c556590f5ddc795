// Runs one operation and encodes its response behind what a writer holds
// already: the step that unary calls and batches share. A frame says what goes
// around the response.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "server/base/errno.h"
#include "server/rpc/operation_api.h"
#include "server/rpc/operation_request.h"
#include "server/rpc/response_encoder.h"
#include "server/rpc/wire_writer.h"
#include "server/vfs/executor.h"

namespace vfsd::rpc {

// A response by itself.
struct BareFrame {
  static constexpr size_t kBytes = 0;
  void Begin(WireWriter&) {}
  void End(WireWriter&) {}
};

// A response as a BatchResult of a BatchResponse.
template <typename Operation>
class BatchFrame {
  // Bytes of a length: enough for any response of the operation.
  static constexpr int kWidth = ResponseLengthWidth<Operation>();
  static constexpr int kField = OperationApi<Operation>::kBatchResult;

 public:
  static constexpr size_t kBytes = 2 * (1 + kWidth);
  void Begin(WireWriter& writer) {
    writer.Ensure(kBytes);
    row_ = writer.Begin<kWidth>(::vfs::v1::BatchResponse::kResultsFieldNumber);
    if constexpr (kField != 0) kind_ = writer.Begin<kWidth>(kField);
  }
  void End(WireWriter& writer) {
    if constexpr (kField != 0) writer.End<kWidth>(kind_);
    writer.End<kWidth>(row_);
  }

 private:
  WireWriter::Open row_{};
  WireWriter::Open kind_{};
};

struct IgnoreResult {
  template <typename Result>
  void operator()(const Result&) const {}
};

// room: how many bytes the response may take. Where the caller asked for more,
// it gets less (a short read, a short page); EOVERFLOW if there is no room at
// all, before anything is done. On an error nothing is written; else `observe`
// gets to see the result.
template <typename Frame, typename Operation, typename Observe = IgnoreResult>
Errno RunOperation(vfs::Executor& executor, const vfs::Caller& caller,
                   OperationRequest<Operation>& request, size_t room,
                   WireWriter& writer, Observe&& observe = {}) {
  Operation& operation = request.operation;
  Frame frame;
  if constexpr (std::is_same_v<Operation, vfs::ReadOperation>) {
    if (room == 0) return Errno::kEOVERFLOW;
    constexpr size_t kHead = Frame::kBytes + kReadHeadBytes;
    operation.buffer = writer.Prepare(
        kHead, std::min({size_t{request.size}, size_t{kMaxReadBytes}, room}));
    const Result<size_t> result = executor.Execute(caller, operation);
    if (!result.has_value()) return result.error();
    writer.Place(kHead, operation.buffer.first(*result));
    frame.Begin(writer);
    EncodeFilledRead(writer, *result);
    frame.End(writer);
    return Errno::kOk;
  }
  if constexpr (std::is_same_v<Operation, vfs::ReadDirectoryOperation>) {
    const auto fitting =
        static_cast<uint32_t>(room / MaxEntryBytes(operation.with_attributes));
    if (fitting == 0) return Errno::kEOVERFLOW;
    if (operation.page_size == 0) operation.page_size = kDefaultPageSize;
    operation.page_size =
        std::min({operation.page_size, kMaxPageSize, fitting});
  }
  if (room < MinResponseRoom<Operation>()) return Errno::kEOVERFLOW;
  const auto result = executor.Execute(caller, operation);
  if (!result.has_value()) return result.error();
  if constexpr (std::is_same_v<Operation, vfs::ReadLinkOperation>) {
    if (room < MinResponseRoom<Operation>() + result->size())
      return Errno::kEOVERFLOW;
  }
  observe(*result);
  frame.Begin(writer);
  if constexpr (std::is_same_v<Operation, vfs::ReadDirectoryOperation>) {
    EncodeResponse(writer, *result, operation.with_attributes);
  } else {
    EncodeResponse(writer, *result);
  }
  frame.End(writer);
  return Errno::kOk;
}

}  // namespace vfsd::rpc
