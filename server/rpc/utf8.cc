#include "server/rpc/utf8.h"

#include <cstdint>
#include <cstring>

namespace vfsd::rpc {
namespace {

// How many bytes the character at `at` takes; 0 if it is none. There are
// `left` bytes, and the first one is not ASCII.
size_t CharacterSize(const unsigned char* at, size_t left) {
  const auto continues = [&](size_t index) {
    return (at[index] & 0xc0) == 0x80;
  };
  const unsigned char first = at[0];
  if (first < 0xc2) return 0;  // a continuation, or overlong
  if (first < 0xe0) return left >= 2 && continues(1) ? 2 : 0;
  if (first < 0xf0) {
    if (left < 3 || !continues(1) || !continues(2)) return 0;
    if (first == 0xe0 && at[1] < 0xa0) return 0;   // overlong
    if (first == 0xed && at[1] >= 0xa0) return 0;  // a surrogate
    return 3;
  }
  if (first > 0xf4 || left < 4 || !continues(1) || !continues(2) ||
      !continues(3))
    return 0;
  if (first == 0xf0 && at[1] < 0x90) return 0;   // overlong
  if (first == 0xf4 && at[1] >= 0x90) return 0;  // beyond U+10FFFF
  return 4;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  while (left > 0) {
    // Paths are ASCII nearly always: eight bytes at a time.
    if (left >= 8) {
      uint64_t word;
      std::memcpy(&word, at, sizeof(word));
      if ((word & 0x8080808080808080) == 0) {
        at += 8;
        left -= 8;
        continue;
      }
    }
    const size_t size = *at < 0x80 ? 1 : CharacterSize(at, left);
    if (size == 0) return false;
    at += size;
    left -= size;
  }
  return true;
}

}  // namespace vfsd::rpc
