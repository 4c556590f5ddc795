#include "client/load/reply_template.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <cstdint>
#include <cstring>

#include "vfs/v1/vfs.pb.h"

namespace vfsload {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

constexpr uint32_t kResultsTag =
    WireFormatLite::MakeTag(vfs::v1::BatchResponse::kResultsFieldNumber,
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kOpenTag =
    WireFormatLite::MakeTag(vfs::v1::BatchResult::kOpenFieldNumber,
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kHandleTag =
    WireFormatLite::MakeTag(vfs::v1::OpenResponse::kHandleFieldNumber,
                            WireFormatLite::WIRETYPE_FIXED64);

constexpr uint32_t kGroupsTag =
    WireFormatLite::MakeTag(vfs::v1::BatchResponse::kGroupsFieldNumber,
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kOpenColumnsTag =
    WireFormatLite::MakeTag(vfs::v1::ColumnGroupResult::kOpenFieldNumber,
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kHandlesTag =
    WireFormatLite::MakeTag(vfs::v1::OpenResultColumns::kHandlesFieldNumber,
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

constexpr size_t kHandleBytes = 8;

// Calls `enter` inside every field with `tag` up to the current limit, and
// skips the others.
template <class Enter>
bool ForEach(CodedInputStream* in, uint32_t wanted, Enter enter) {
  while (const uint32_t tag = in->ReadTag()) {
    if (tag == wanted) {
      if (!enter()) return false;
    } else if (!WireFormatLite::SkipField(in, tag)) {
      return false;
    }
  }
  return in->ConsumedEntireMessage();
}

// The same for fields that hold a message.
template <class Enter>
bool ForEachMessage(CodedInputStream* in, uint32_t wanted, Enter enter) {
  return ForEach(in, wanted, [&] {
    int length = 0;
    if (!in->ReadVarintSizeAsInt(&length) || length > in->BytesUntilLimit()) {
      return false;
    }
    const CodedInputStream::Limit limit = in->PushLimit(length);
    if (!enter()) return false;
    in->PopLimit(limit);
    return true;
  });
}

}  // namespace

void ReplyTemplate::Learn(std::string_view reply) {
  handles_.clear();
  bytes_ = reply;
  learnt_ = LearnRows() && LearnColumns();
}

bool ReplyTemplate::LearnRows() {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes_.data()),
                      static_cast<int>(bytes_.size()));
  in.PushLimit(static_cast<int>(bytes_.size()));
  return ForEachMessage(&in, kResultsTag, [&] {
    return ForEachMessage(&in, kOpenTag, [&] {
      return ForEach(&in, kHandleTag, [&] {
        handles_.push_back(static_cast<size_t>(in.CurrentPosition()));
        return in.Skip(static_cast<int>(kHandleBytes));
      });
    });
  });
}

bool ReplyTemplate::LearnColumns() {
  CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes_.data()),
                      static_cast<int>(bytes_.size()));
  in.PushLimit(static_cast<int>(bytes_.size()));
  return ForEachMessage(&in, kGroupsTag, [&] {
    return ForEachMessage(&in, kOpenColumnsTag, [&] {
      return ForEachMessage(&in, kHandlesTag, [&] {
        while (in.BytesUntilLimit() > 0) {
          const auto at = static_cast<size_t>(in.CurrentPosition());
          uint64_t handle = 0;
          if (!in.ReadLittleEndian64(&handle)) return false;
          // A 0 is an open that must fail again.
          if (handle != 0) handles_.push_back(at);
        }
        return true;
      });
    });
  });
}

bool ReplyTemplate::Matches(std::string_view reply) const {
  if (!learnt_ || reply.size() != bytes_.size()) return false;
  size_t done = 0;
  for (const size_t handle : handles_) {
    if (std::memcmp(reply.data() + done, bytes_.data() + done, handle - done) !=
        0) {
      return false;
    }
    uint64_t value = 0;
    std::memcpy(&value, reply.data() + handle, sizeof(value));
    if (value == 0) return false;
    done = handle + kHandleBytes;
  }
  return std::memcmp(reply.data() + done, bytes_.data() + done,
                     bytes_.size() - done) == 0;
}

}  // namespace vfsload
