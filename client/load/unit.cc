#include "client/load/unit.h"

#include <string_view>

#include "client/lib/path.h"

namespace vfsload {
namespace {

// FNV-1a: enough to notice a difference, and the same on every machine.
class Fnv {
 public:
  void Add(std::string_view bytes) {
    for (const char c : bytes) {
      hash_ = (hash_ ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    }
  }
  void Add(uint64_t value) {
    for (int i = 0; i < 8; ++i) {
      hash_ = (hash_ ^ (value >> (8 * i) & 0xff)) * 0x100000001b3;
    }
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

DirectoryDigest DirectoryDigest::Of(
    const vfs::v1::ReadDirectoryResponse& page) {
  Fnv fnv;
  for (const auto& entry : page.entries()) {
    fnv.Add(vfsclient::NameOf(entry));
    fnv.Add(entry.ino());
    fnv.Add(entry.type());
  }
  return {static_cast<size_t>(page.entries_size()), fnv.hash()};
}

}  // namespace vfsload
