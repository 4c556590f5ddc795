// WireWriter: encodes one message straight into the slices that gRPC sends.
// Chunks grow as they fill and never move, so a submessage's length can be
// written after its content.
//
// Lengths that are not known beforehand are varints of a fixed width, padded
// with empty groups, which every reader of the format accepts.
//
// Thread safety: none; a worker of a queue has one and uses it again.
#pragma once

#include <grpc/slice.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "server/rpc/wire_format.h"

namespace vfsd::rpc {

class WireWriter {
 public:
  WireWriter() = default;
  ~WireWriter() { Discard(); }
  WireWriter(const WireWriter&) = delete;
  WireWriter& operator=(const WireWriter&) = delete;

  // How large the first chunk will be: about what the message will take.
  void SetFirstChunk(size_t bytes) {
    next_chunk_ = std::clamp(bytes, kSmallestChunk, kLargestChunk);
  }

  // Makes room for `bytes` in one piece. The Put calls after it, up to so many
  // bytes, do not check again.
  void Ensure(size_t bytes) {
    if (static_cast<size_t>(limit_ - cursor_) < bytes) AddChunk(bytes);
  }

  void PutByte(uint8_t byte) { *cursor_++ = byte; }
  void PutVarint(uint64_t value) {
    while (value >= 0x80) {
      *cursor_++ = static_cast<uint8_t>(value | 0x80);
      value >>= 7;
    }
    *cursor_++ = static_cast<uint8_t>(value);
  }
  template <typename Value>
  void PutFixed(Value value) {
    std::memcpy(cursor_, &value, sizeof(value));
    cursor_ += sizeof(value);
  }
  void PutBytes(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(cursor_, bytes.data(), bytes.size());
    cursor_ += bytes.size();
  }

  // Scalar fields; zero is the default and left out.
  void PutVarintField(int field, uint64_t value) {
    if (value == 0) return;
    PutVarint(MakeTag(field, WireType::kVarint));
    PutVarint(value);
  }
  void PutFixed32Field(int field, uint32_t value) {
    if (value == 0) return;
    PutVarint(MakeTag(field, WireType::kFixed32));
    PutFixed(value);
  }
  void PutFixed64Field(int field, uint64_t value) {
    if (value == 0) return;
    PutVarint(MakeTag(field, WireType::kFixed64));
    PutFixed(value);
  }
  void PutBytesField(int field, std::string_view bytes) {
    PutVarint(MakeTag(field, WireType::kLength));
    PutVarint(bytes.size());
    PutBytes(bytes);
  }

  // A submessage of fewer than 2^(7 * width) bytes: everything that is written
  // between Begin and End. REQUIRES: as Put.
  struct Open {
    uint8_t* length;
    size_t start;
  };
  template <int width>
  Open Begin(int field) {
    PutVarint(MakeTag(field, WireType::kLength));
    const Open open{cursor_, size() + width};
    cursor_ += width;
    return open;
  }
  template <int width>
  void End(Open open) {
    size_t length = size() - open.start;
    for (int i = 0; i < width - 1; ++i) {
      open.length[i] = static_cast<uint8_t>(length | 0x80);
      length >>= 7;
    }
    open.length[width - 1] = static_cast<uint8_t>(length);
  }

  // Memory for up to `bytes` of a payload that will stand `head` bytes behind
  // the end, to be filled by somebody who tells only afterwards how many came;
  // Place, with those, must follow. The very bytes that are sent, but not where
  // a large request would leave much of a chunk unused.
  std::span<char> Prepare(size_t head, size_t bytes);
  void Place(size_t head, std::span<const char> filled);

  // Where the next byte goes, for those who write by themselves; then Skip.
  uint8_t* cursor() { return cursor_; }
  void Skip(size_t bytes) { cursor_ += bytes; }

  size_t size() const {
    return earlier_bytes_ + static_cast<size_t>(cursor_ - begin_);
  }

  // The message; the writer is empty again.
  grpc::ByteBuffer Take();
  // Drops what was written.
  void Discard();

  // For lengths of submessages, and upper bounds for Ensure.
  static constexpr size_t VarintSize(uint64_t value) {
    size_t bytes = 1;
    while (value >= 0x80) {
      value >>= 7;
      ++bytes;
    }
    return bytes;
  }

 private:
  static constexpr size_t kSmallestChunk = 256;
  static constexpr size_t kLargestChunk = 256 * 1024;
  // What Prepare may leave unused.
  static constexpr size_t kLargestWaste = 16 * 1024;

  void AddChunk(size_t at_least);
  void CloseChunk();

  uint8_t* begin_ = nullptr;
  uint8_t* cursor_ = nullptr;
  uint8_t* limit_ = nullptr;
  grpc_slice chunk_{};  // what begin_ and limit_ are of, if begin_ is not null
  size_t next_chunk_ = kSmallestChunk;
  size_t earlier_bytes_ = 0;
  std::vector<grpc::Slice> slices_;
  // For payloads that are prepared aside.
  std::unique_ptr<char[]> aside_;
  size_t aside_bytes_ = 0;
};

}  // namespace vfsd::rpc
