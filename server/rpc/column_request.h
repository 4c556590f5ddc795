// ColumnGroup: a group of operations of one kind, as the service works with it:
// vfs.v1.ColumnGroup over views into the encoded message, which must outlive
// it.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "server/vfs/operation.h"

namespace vfsd::rpc {

// A packed field of fixed width: a view where it came in one piece, as encoders
// write it; else put together in memory of its own.
template <typename Value>
class FixedColumn {
 public:
  size_t size() const { return bytes().size() / sizeof(Value); }
  Value operator[](size_t i) const {
    Value value;
    std::memcpy(&value, bytes().data() + i * sizeof(Value), sizeof(Value));
    return value;
  }

  // A packed piece. False: not a whole number of values.
  bool Append(std::string_view packed) {
    if (packed.size() % sizeof(Value) != 0) return false;
    if (joined_.empty() && view_.empty()) {
      view_ = packed;
      return true;
    }
    if (joined_.empty()) joined_ = view_;
    joined_ += packed;
    return true;
  }
  // A value by itself.
  void Append(Value value) {
    if (joined_.empty()) joined_ = view_;
    joined_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

 private:
  std::string_view bytes() const { return joined_.empty() ? view_ : joined_; }

  std::string_view view_;
  std::string joined_;  // not empty: counts instead of the view
};

// vfs.v1.PathColumn.
struct PathColumn {
  std::string_view joined;
  FixedColumn<uint32_t> ends;

  size_t size() const { return ends.size(); }
  // Ends do not fall, and lie in what is joined.
  bool valid() const {
    uint32_t last = 0;
    for (size_t i = 0; i < ends.size(); ++i) {
      if (ends[i] < last) return false;
      last = ends[i];
    }
    return last <= joined.size();
  }
};

// vfs.v1.HandleColumn.
struct HandleColumn {
  FixedColumn<uint64_t> handles;
  std::optional<uint32_t> group;
};

// All kinds together: what a kind does not have stays as it is here.
struct ColumnGroup {
  // The numbers of ColumnGroup's fields; 0: none is set.
  uint32_t kind = 0;
  // Operations, once the message has been decoded whole.
  size_t count = 0;

  vfs::DirectoryArgument dir;
  std::optional<PathColumn> paths;
  std::optional<HandleColumn> files;
  uint32_t flags = 0;
  uint32_t mode = 0;
  uint32_t mask = 0;
  bool unmasked_fields = false;
  int64_t offset = 0;
  uint32_t size = 0;
};

}  // namespace vfsd::rpc
