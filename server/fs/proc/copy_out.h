// simple_read_from_buffer(): the part of `text` that a read at `offset` gets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace vfsd::proc {

// How many bytes were copied to the start of `buffer`; 0 at or behind the end.
inline size_t CopyOut(std::string_view text, uint64_t offset,
                      std::span<char> buffer) {
  if (offset >= text.size()) return 0;
  const size_t size = std::min<size_t>(
      text.size() - static_cast<size_t>(offset), buffer.size());
  if (size != 0) std::memcpy(buffer.data(), text.data() + offset, size);
  return size;
}

}  // namespace vfsd::proc
