// FileProvider: where the content of a proc file comes from. The kernel's
// struct proc_ops, whose flags say which hooks there are and how the entry may
// be treated.
//
// A provider is given to ProcFileSystem with its entry and belongs to it from
// then on. The provider of a removable entry is destroyed when the removal has
// waited for everybody who was inside a hook: no hook runs, and nobody looks at
// the provider, after that.
//
// Thread safety: hooks are called from any thread, several at once, and may
// wait. They must not remove their own entry (a removal waits for them).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "server/base/errno.h"
#include "server/base/result.h"
#include "server/vfs/file.h"

namespace vfsd::proc {

// What a provider tells of itself, once, at registration; the entry keeps a
// copy and nobody asks the provider again.
enum ProviderFlag : uint8_t {
  // The entry never disappears: its hooks are called without any protection
  // against removal. Heeded only for entries that the file system is
  // constructed with; from anybody else the claim is dropped, since a file that
  // does disappear would be used after its end.
  kProviderPermanent = 1U << 0,
  // Read is implemented; without it a read is EIO.
  kProviderReads = 1U << 1,
  // Release is implemented, and must run exactly once for each open.
  kProviderReleases = 1U << 2,
  // Read takes any offset; without it only 0 (what comes next), else ESPIPE.
  kProviderSeeks = 1U << 3,
};

// An open proc file, for the hooks.
struct OpenFile {
  const vfs::File& file;
  // The provider's own: set it in Open. It is destroyed with the open file if
  // Release does not do so before.
  std::unique_ptr<vfs::FilePrivateData>& state;
};

class FileProvider {
 public:
  virtual ~FileProvider() = default;

  // ProviderFlag bits.
  virtual uint8_t flags() const = 0;

  // An error fails the open, and Release is not called.
  virtual Errno Open(OpenFile) { return Errno::kOk; }
  // Fills `buffer` from its start with what the file has at `offset`; 0 at the
  // end.
  virtual Result<size_t> Read(OpenFile, uint64_t /*offset*/,
                              std::span<char> /*buffer*/) {
    return Fail(Errno::kEIO);
  }
  virtual void Release(OpenFile) {}
};

}  // namespace vfsd::proc
