#include "server/vfs/file_system.h"

#include "server/vfs/dentry.h"

namespace vfsd::vfs {
namespace {

// Device minors are given out in the order of making, as the kernel does for
// file systems without a device.
std::atomic<uint32_t> next_device_minor{1};

}  // namespace

FileSystem::FileSystem(const FileSystemTraits& traits)
    : traits_(traits),
      device_minor_(next_device_minor.fetch_add(1, std::memory_order_relaxed)) {
}

FileSystem::~FileSystem() {
  dentries_.Drain([](Dentry* dentry) {
    Inode& inode = dentry->inode();
    Dentry::Delete(dentry);
    // The namespace's reference goes with the last name.
    bool last = true;
    if (!inode.IsDirectory()) {
      sync::SeqLockWriter writer(inode.attribute_lock);
      inode.SetLinkCount(inode.nlink() - 1);
      last = inode.nlink() == 0;
    }
    if (last) DropNamespaceReference(inode);
  });
}

void FileSystem::SetRoot(PinnedInode root) {
  root->directory().SetRoot(*root);
  root_ = std::move(root);
}

}  // namespace vfsd::vfs
