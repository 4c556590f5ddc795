// Turning units into bytes to send: once, before the load starts.
//
// What a load sends repeats, so it is serialised at preparation. Handles are
// fixed64 in vfs.v1, so a unary request that needs the handle of an earlier
// step is sent as a copy of its bytes with eight of them replaced. Batched, a
// step refers to an earlier one by its index in the message, and the whole
// message is constant. Free functions and plain values.
#ifndef CLIENT_LOAD_REQUEST_ENCODING_H_
#define CLIENT_LOAD_REQUEST_ENCODING_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "client/load/operation.h"
#include "client/load/unit.h"

namespace vfsload {

grpc::ByteBuffer ToByteBuffer(const std::string& bytes);

// A step as a unary request.
class UnaryRequest {
 public:
  UnaryRequest(const Step& step, uint64_t session);

  Operation operation() const { return operation_; }
  // The request's bytes; `handle` is that of the step it uses, if any.
  grpc::ByteBuffer Bytes(uint64_t handle) const;

 private:
  Operation operation_;
  std::string bytes_;
  // Where the handle goes.
  std::optional<size_t> handle_offset_;
  // Where no handle is needed: shares its memory with every call.
  grpc::ByteBuffer constant_;
};

// A message of a batch stream, and the steps in the order of its answers.
struct EncodedBatch {
  std::string bytes;
  std::vector<const Step*> steps;
};

// Units, one after the other.
EncodedBatch EncodeBatch(const std::vector<const Unit*>& units,
                         uint64_t session);
// In columns: units that differ in their paths only share groups, one for each
// of their steps. The error says, for people, what has no such form.
std::expected<EncodedBatch, std::string> EncodeColumns(
    const std::vector<const Unit*>& units, uint64_t session);

}  // namespace vfsload

#endif  // CLIENT_LOAD_REQUEST_ENCODING_H_
