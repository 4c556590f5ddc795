#include "client/load/request_encoding.h"

#include <grpcpp/support/slice.h>

#include <cstring>

#include "client/lib/batch.h"
#include "client/lib/batch_operation.h"

namespace vfsload {
namespace {

// Stands in for the handle until it is known; unlikely as anything else, and
// the search is checked.
constexpr uint64_t kPlaceholder = 0x9ad6'e3f5'81b7'c24dull;

}  // namespace

grpc::ByteBuffer ToByteBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

UnaryRequest::UnaryRequest(const Step& step, uint64_t session)
    : operation_(KindOf(step.operation)) {
  vfs::v1::BatchOperation operation = step.operation;
  if (step.uses_step >= 0) {
    vfsclient::SetFile(vfsclient::Handle{kPlaceholder}, &operation);
  }
  bytes_ = vfsclient::VisitRequest(&operation, [session](auto* request) {
    request->set_session(session);
    return request->SerializeAsString();
  });
  if (step.uses_step >= 0) {
    char wire[sizeof(kPlaceholder)];
    for (size_t i = 0; i < sizeof(wire); ++i) {
      wire[i] = static_cast<char>(kPlaceholder >> (8 * i));
    }
    handle_offset_ = bytes_.find(std::string_view(wire, sizeof(wire)));
  } else {
    constant_ = ToByteBuffer(bytes_);
  }
}

grpc::ByteBuffer UnaryRequest::Bytes(uint64_t handle) const {
  if (!handle_offset_) return constant_;
  std::string bytes = bytes_;
  for (size_t i = 0; i < sizeof(handle); ++i) {
    bytes[*handle_offset_ + i] = static_cast<char>(handle >> (8 * i));
  }
  return ToByteBuffer(bytes);
}

std::string EncodeBatch(const std::vector<const Unit*>& units,
                        uint64_t session) {
  vfs::v1::BatchRequest request;
  request.set_session(session);
  for (const Unit* unit : units) {
    const auto base = static_cast<uint32_t>(request.operations_size());
    for (const Step& step : unit->steps) {
      vfs::v1::BatchOperation* operation = request.add_operations();
      *operation = step.operation;
      if (step.uses_step >= 0) {
        vfsclient::SetFile(
            vfsclient::OperationIndex{base +
                                      static_cast<uint32_t>(step.uses_step)},
            operation);
      }
    }
  }
  return request.SerializeAsString();
}

}  // namespace vfsload
