// What a walk does with the bytes of a name: find its end, hash it, compare it.
// Written for names of a few dozen bytes, where calling memchr or memcmp costs
// more than what they do: eight bytes at a time, the last eight overlapping the
// ones before, and never a byte outside the name.
//
// Functions without state; thread safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vfsd::vfs {

namespace internal {

template <typename Word>
inline uint64_t LoadWord(const char* data) {
  Word word;
  std::memcpy(&word, data, sizeof(word));
  return word;
}

inline uint64_t Mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// The highest bit of each byte that is a '/', and no other bit.
inline uint64_t SlashesIn(uint64_t word) {
  static_assert(std::endian::native == std::endian::little);
  constexpr uint64_t kLows = 0x7f7f7f7f7f7f7f7fU;
  constexpr uint64_t kSlashes = 0x0101010101010101U * '/';
  const uint64_t other = word ^ kSlashes;
  return ~(((other & kLows) + kLows) | other | kLows);
}

}  // namespace internal

// The length of the path component at the start of `path`: up to a '/' or the
// end.
inline size_t ComponentLength(std::string_view path) {
  using internal::LoadWord;
  using internal::SlashesIn;
  const char* const data = path.data();
  const size_t size = path.size();
  const auto first = [](uint64_t slashes) {
    return static_cast<size_t>(std::countr_zero(slashes)) / 8;
  };
  if (size >= 8) {
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
      const uint64_t slashes = SlashesIn(LoadWord<uint64_t>(data + at));
      if (slashes != 0) return at + first(slashes);
    }
    // The last eight bytes, less those that were looked at.
    const uint64_t slashes = SlashesIn(LoadWord<uint64_t>(data + size - 8));
    return slashes != 0 ? size - 8 + first(slashes) : size;
  }
  size_t at = 0;
  while (at < size && data[at] != '/') ++at;
  return at;
}

// The length of what is before the last '/'; 0 if there is none, or only the
// first byte is one.
inline size_t DirectoryLength(std::string_view path) {
  using internal::LoadWord;
  using internal::SlashesIn;
  const char* const data = path.data();
  size_t end = path.size();
  for (; end >= 8; end -= 8) {
    const uint64_t slashes = SlashesIn(LoadWord<uint64_t>(data + end - 8));
    if (slashes != 0) {
      return end - 1 - static_cast<size_t>(std::countl_zero(slashes)) / 8;
    }
  }
  while (end > 0 && data[end - 1] != '/') --end;
  return end > 0 ? end - 1 : 0;
}

// Unguessable words; odd.
struct NameHashSeed {
  uint64_t parent;
  uint64_t name;
};

// Of a name in a directory. A client that does not know the seed cannot make
// names collide.
inline uint32_t HashName(const NameHashSeed& seed, const void* parent,
                         std::string_view name) {
  using internal::LoadWord;
  using internal::Mix;
  // The size times a seed: the name's last bytes come into the same word, and
  // two names whose bytes make up for their sizes would collide.
  uint64_t hash = (reinterpret_cast<uint64_t>(parent) * seed.parent) ^
                  (name.size() * seed.name);
  const char* data = name.data();
  size_t left = name.size();
  while (left > 16) {
    hash = Mix(LoadWord<uint64_t>(data) ^ seed.name,
               LoadWord<uint64_t>(data + 8) ^ hash);
    data += 16;
    left -= 16;
  }
  uint64_t first = 0;
  uint64_t last = 0;
  if (left >= 8) {
    first = LoadWord<uint64_t>(data);
    last = LoadWord<uint64_t>(data + left - 8);
  } else if (left >= 4) {
    first = LoadWord<uint32_t>(data);
    last = LoadWord<uint32_t>(data + left - 4);
  } else if (left > 0) {
    first = LoadWord<uint8_t>(data) << 16 |
            LoadWord<uint8_t>(data + left / 2) << 8 |
            LoadWord<uint8_t>(data + left - 1);
  }
  hash = Mix(first ^ seed.name, last ^ hash);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

// a == b, of which both have `size` bytes.
inline bool SameBytes(const char* a, const char* b, size_t size) {
  using internal::LoadWord;
  if (size >= 8) {
    for (size_t at = 0; at + 8 < size; at += 8) {
      if (LoadWord<uint64_t>(a + at) != LoadWord<uint64_t>(b + at))
        return false;
    }
    return LoadWord<uint64_t>(a + size - 8) == LoadWord<uint64_t>(b + size - 8);
  }
  if (size >= 4) {
    return LoadWord<uint32_t>(a) == LoadWord<uint32_t>(b) &&
           LoadWord<uint32_t>(a + size - 4) == LoadWord<uint32_t>(b + size - 4);
  }
  for (size_t at = 0; at < size; ++at)
    if (a[at] != b[at]) return false;
  return true;
}

}  // namespace vfsd::vfs
