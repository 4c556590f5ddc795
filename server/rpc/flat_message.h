// FlatMessage: a received message in one piece. gRPC may deliver it in several
// slices; then, and only then, it is copied together.
#pragma once

#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <string_view>

namespace vfsd::rpc {

class FlatMessage {
 public:
  // Takes the content of `buffer`, which is empty then.
  explicit FlatMessage(grpc::ByteBuffer& buffer) {
    if (!buffer.TrySingleSlice(&slice_).ok() &&
        !buffer.DumpToSingleSlice(&slice_).ok()) {
      slice_ = grpc::Slice();
    }
    buffer.Clear();
  }

  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(slice_.begin()), slice_.size()};
  }

 private:
  grpc::Slice slice_;
};

}  // namespace vfsd::rpc
