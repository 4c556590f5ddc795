#include "server/vfs/dentry.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "server/vfs/live_objects.h"

namespace vfsd::vfs {

Dentry::Dentry(Inode& parent, std::string_view name, uint32_t hash,
               Inode& inode, uint64_t cookie)
    : parent_(&parent),
      inode_(&inode),
      cookie_(cookie),
      hash_(hash),
      name_length_(static_cast<uint8_t>(name.size())) {
  std::memcpy(name_, name.data(), name.size());
}

size_t Dentry::AllocationBytes(size_t name_bytes) {
  // The name begins in the object's padding.
  return std::max(sizeof(Dentry), offsetof(Dentry, name_) + name_bytes);
}

Dentry::Ptr Dentry::Create(Inode& parent, std::string_view name, uint32_t hash,
                           Inode& inode, uint64_t cookie) {
  void* const memory = ::operator new(AllocationBytes(name.size()));
  live_objects::Add(ObjectKind::kDentry, 1);
  return Ptr(new (memory) Dentry(parent, name, hash, inode, cookie));
}

void Dentry::Delete(Dentry* dentry) {
  live_objects::Add(ObjectKind::kDentry, -1);
  dentry->~Dentry();
  ::operator delete(dentry);
}

}  // namespace vfsd::vfs
