#include "server/fs/mem/mem_file_system.h"

#include <utility>

#include "server/vfs/inode.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/new_inode.h"
#include "server/vfs/synthetic_file.h"

namespace vfsd::mem {
namespace {

constexpr vfs::FileSystemTraits kTraits = {
    .type_name = "mem",
    .magic = 0x01021994,  // tmpfs's: what behaves like it should look like it
                          // to programs
    .block_size = 4096,
    .attributes_mask = vfs::linux_abi::kStatxAttrImmutable |
                       vfs::linux_abi::kStatxAttrAppend |
                       vfs::linux_abi::kStatxAttrNodump,
    .has_birth_time = true,
    .directory_size_base = 40,
    .directory_size_per_entry = 20,
    .inline_symlink_bytes = 127,
    .namespace_mutable = true,
};

}  // namespace

MemFileSystem::MemFileSystem(const RootOptions& root)
    : vfs::FileSystem(kTraits) {
  const Timestamp now = Timestamp::Now();
  vfs::Inode::Init init = vfs::NewDirectory(*this, root.mode, now);
  init.uid = root.uid;
  init.gid = root.gid;
  init.atime = root.atime.value_or(now);
  init.mtime = root.mtime.value_or(now);
  init.ctime = root.ctime.value_or(now);
  init.btime = root.btime.value_or(now);
  SetRoot(vfs::MakeInode(std::move(init)));
}

}  // namespace vfsd::mem
