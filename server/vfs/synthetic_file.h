// SyntheticFile: the content of a file that is made when it is read (proc). The
// kernel's file_operations, for the few calls that vfsd serves.
//
// Owned by its inode. Every member may be called from any thread, and several
// at once; none in an RCU read section, so they may wait.
#pragma once

#include <cstdint>
#include <span>

#include "server/base/errno.h"
#include "server/base/result.h"

namespace vfsd::vfs {

class File;

class SyntheticFile {
 public:
  virtual ~SyntheticFile() = default;

  // f_op->open: may store something in file.private_data. An error fails the
  // open (early: the file is not OPENED).
  virtual Errno Open(File& file) = 0;
  // f_op->read at `offset`: fills `buffer` from its start; 0 at the end.
  virtual Result<size_t> Read(File& file, uint64_t offset,
                              std::span<char> buffer) = 0;
  // f_op->release: the file is closed; exactly once for each successful Open.
  virtual void Release(File& file) = 0;
};

}  // namespace vfsd::vfs
