#include "server/fs/proc/fixed_file.h"

#include "server/fs/proc/copy_out.h"

namespace vfsd::proc {

Result<size_t> FixedFile::Read(OpenFile /*open*/, uint64_t offset,
                               std::span<char> buffer) {
  return CopyOut(content_, offset, buffer);
}

}  // namespace vfsd::proc
