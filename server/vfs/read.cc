#include "server/vfs/read.h"

#include "absl/cleanup/cleanup.h"
#include "server/vfs/executor.h"
#include "server/vfs/session.h"
#include "server/vfs/synthetic_file.h"
#include "server/vfs/vfs.h"

namespace vfsd::vfs {

Result<size_t> ReadFile(Vfs& vfs, const Caller& caller,
                        const ReadOperation& operation) {
  if (operation.offset < 0) return Fail(Errno::kEINVAL);
  // Pinned, not in a read section: a provider may wait.
  const Result<File*> pinned = caller.session.files().Pin(operation.handle);
  if (!pinned.has_value()) return Fail(pinned.error());
  File& file = **pinned;
  const absl::Cleanup put = [&vfs, &file] { vfs.files.Put(&file); };
  if (!file.HasMode(kFileRead)) return Fail(Errno::kEBADF);
  Inode& inode = file.inode();
  switch (inode.mode() & linux_abi::kSIfmt) {
    case linux_abi::kSIfdir:
      return Fail(Errno::kEISDIR);
    case linux_abi::kSIfifo:
      return Fail(Errno::kESPIPE);
    default:
      break;
  }
  if (!inode.IsSynthetic()) return Fail(Errno::kEOPNOTSUPP);
  return inode.synthetic_file().Read(
      file, static_cast<uint64_t>(operation.offset), operation.buffer);
}

}  // namespace vfsd::vfs
