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
  CodedInputStream in(reinterpret_cast<const uint8_t*>(reply.data()),
                      static_cast<int>(reply.size()));
  in.PushLimit(static_cast<int>(reply.size()));
  learnt_ = ForEachMessage(&in, kResultsTag, [&] {
    return ForEachMessage(&in, kOpenTag, [&] {
      return ForEach(&in, kHandleTag, [&] {
        handles_.push_back(static_cast<size_t>(in.CurrentPosition()));
        return in.Skip(static_cast<int>(kHandleBytes));
      });
    });
  });
  bytes_ = reply;
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
