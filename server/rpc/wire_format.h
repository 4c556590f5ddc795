// Protocol buffers' wire format, as far as the reader and the writer of
// messages share it (protobuf.dev, "Encoding").
#pragma once

#include <cstdint>

namespace vfsd::rpc {

enum class WireType : uint32_t {
  kVarint = 0,
  kFixed64 = 1,
  kLength = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5,
};

constexpr uint32_t MakeTag(int field, WireType type) {
  return static_cast<uint32_t>(field) << 3 | static_cast<uint32_t>(type);
}

}  // namespace vfsd::rpc
