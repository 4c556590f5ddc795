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
  if (file.HasMode(kFilePathOnly)) return Fail(Errno::kEBADF);
  Inode& inode = file.inode();
  // FMODE_PREAD comes before FMODE_READ.
  if (linux_abi::IsFifo(inode.mode())) return Fail(Errno::kESPIPE);
  if (!file.HasMode(kFileRead)) return Fail(Errno::kEBADF);
  if (inode.IsDirectory()) return Fail(Errno::kEISDIR);
  if (!inode.IsSynthetic()) return Fail(Errno::kEOPNOTSUPP);
  return inode.synthetic_file().Read(
      file, static_cast<uint64_t>(operation.offset), operation.buffer);
}

}  // namespace vfsd::vfs
