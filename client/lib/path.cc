#include "client/lib/path.h"

#include <cstdint>

namespace vfsclient {
namespace {

// How many bytes follow the lead byte, and the least code point that needs that
// many; -1 where `lead` starts no character.
int FollowingBytes(uint8_t lead, uint32_t* least) {
  if (lead < 0x80) return *least = 0, 0;
  if (lead >= 0xc2 && lead < 0xe0) return *least = 0x80, 1;
  if (lead >= 0xe0 && lead < 0xf0) return *least = 0x800, 2;
  if (lead >= 0xf0 && lead < 0xf5) return *least = 0x10000, 3;
  return -1;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const auto lead = static_cast<uint8_t>(bytes[i]);
    uint32_t least = 0;
    const int following = FollowingBytes(lead, &least);
    if (following < 0 || i + static_cast<size_t>(following) >= bytes.size()) {
      return false;
    }
    uint32_t point = following == 0 ? lead : lead & (0x3fu >> following);
    for (int k = 1; k <= following; ++k) {
      const auto byte = static_cast<uint8_t>(bytes[i + static_cast<size_t>(k)]);
      if ((byte & 0xc0) != 0x80) return false;
      point = point << 6 | (byte & 0x3fu);
    }
    if (point < least || point > 0x10ffff ||
        (point >= 0xd800 && point <= 0xdfff)) {
      return false;
    }
    i += static_cast<size_t>(following) + 1;
  }
  return true;
}

const std::string& NameOf(const vfs::v1::DirectoryEntry& entry) {
  return entry.has_raw_name() ? entry.raw_name() : entry.name();
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.ends_with('/')) path += '/';
  return path += name;
}

}  // namespace vfsclient
