// WireReader: goes through the fields of one encoded message without copying:
// strings, bytes and submessages are views into the message.
//
// Why not the generated classes: a batch holds thousands of small operations,
// and to build an object with strings for each costs more than to run it.
// Semantics are the generated classes': the last of a field counts, a
// submessage that comes twice is merged, unknown fields and those of an
// unexpected wire type are skipped.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "server/rpc/wire_format.h"

namespace vfsd::rpc {

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // of kVarint, kFixed32, kFixed64
  std::string_view bytes;  // of kLength

  uint32_t tag() const { return number << 3 | static_cast<uint32_t>(type); }
};

class WireReader {
 public:
  explicit WireReader(std::string_view message)
      : cursor_(message.data()), end_(message.data() + message.size()) {}

  // The next field; false at the end and where the message is malformed.
  bool Next(WireField& field) {
    if (cursor_ == end_) return false;
    return ReadField(field, 0);
  }
  bool malformed() const { return malformed_; }

  // For packed fields.
  bool NextVarint(uint64_t& value) {
    return cursor_ != end_ && ReadVarint(value);
  }

 private:
  // Nested groups (long deprecated, but legal in unknown fields) end here, as
  // in the generated classes.
  static constexpr int kMaxGroupDepth = 100;

  bool Malformed() {
    malformed_ = true;
    cursor_ = end_;
    return false;
  }

  bool ReadVarint(uint64_t& value) {
    if (cursor_ != end_ && static_cast<unsigned char>(*cursor_) < 0x80) {
      value = static_cast<unsigned char>(*cursor_++);
      return true;
    }
    return ReadLongVarint(value);
  }
  // A tag takes at most five bytes, and what goes beyond 32 bits is dropped: so
  // the generated classes read it.
  bool ReadTag(uint32_t& tag) {
    tag = 0;
    for (int shift = 0; shift < 35 && cursor_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*cursor_++);
      tag |= static_cast<uint32_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return Malformed();
  }
  bool ReadLongVarint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70 && cursor_ != end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*cursor_++);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return Malformed();
  }

  template <typename Value>
  bool ReadFixed(uint64_t& value) {
    if (static_cast<size_t>(end_ - cursor_) < sizeof(Value)) return Malformed();
    Value fixed;
    std::memcpy(&fixed, cursor_, sizeof(fixed));
    cursor_ += sizeof(fixed);
    value = fixed;
    return true;
  }

  bool ReadField(WireField& field, int depth) {
    uint32_t tag;
    if (!ReadTag(tag)) return false;
    field.number = tag >> 3;
    field.type = static_cast<WireType>(tag & 7);
    if (field.number == 0) return Malformed();
    switch (field.type) {
      case WireType::kVarint:
        return ReadVarint(field.value);
      case WireType::kFixed64:
        return ReadFixed<uint64_t>(field.value);
      case WireType::kFixed32:
        return ReadFixed<uint32_t>(field.value);
      case WireType::kLength: {
        uint64_t length;
        if (!ReadVarint(length)) return Malformed();
        if (length > static_cast<uint64_t>(end_ - cursor_)) return Malformed();
        field.bytes = std::string_view(cursor_, length);
        cursor_ += length;
        return true;
      }
      case WireType::kStartGroup:
        return SkipGroup(field.number, depth + 1);
      case WireType::kEndGroup:
        break;
    }
    return Malformed();
  }

  // A group is nobody's field here; it only has to be well formed.
  bool SkipGroup(uint32_t number, int depth) {
    if (depth > kMaxGroupDepth) return Malformed();
    while (cursor_ != end_) {
      const char* start = cursor_;
      uint32_t tag;
      if (!ReadTag(tag)) return false;
      if (static_cast<WireType>(tag & 7) == WireType::kEndGroup) {
        return tag >> 3 == number || Malformed();
      }
      cursor_ = start;
      WireField inner;
      if (!ReadField(inner, depth)) return false;
    }
    return Malformed();
  }

  const char* cursor_;
  const char* const end_;
  bool malformed_ = false;
};

}  // namespace vfsd::rpc
