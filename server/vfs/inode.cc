#include "server/vfs/inode.h"

#include "server/sync/rcu.h"
#include "server/vfs/dentry.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/synthetic_file.h"

namespace vfsd::vfs {
namespace {

ObjectKind KindOf(const Inode& inode) {
  if (inode.IsSynthetic()) return ObjectKind::kSyntheticInode;
  if (inode.IsRegular()) return ObjectKind::kRegularInode;
  if (inode.IsDirectory()) return ObjectKind::kDirectoryInode;
  if (inode.IsSymlink()) return ObjectKind::kSymlinkInode;
  return ObjectKind::kSpecialInode;
}

}  // namespace

Inode::Inode(Init init)
    : mode_(init.mode),
      nlink_(init.nlink),
      uid_(init.uid),
      gid_(init.gid),
      flags_(init.allocated ? kInodeAllocated : 0),
      synthetic_(init.synthetic != nullptr),
      ino_(init.ino),
      size_(init.size),
      atime_(init.atime.packed()),
      mtime_(init.mtime.packed()),
      ctime_(init.ctime.packed()),
      btime_(init.btime) {
  payload_.device = init.device;
  if (synthetic_) {
    payload_.synthetic = init.synthetic.release();
  } else if (IsDirectory()) {
    payload_.directory = std::make_unique<Directory>().release();
  } else if (linux_abi::IsFifo(init.mode)) {
    payload_.fifo_readers = std::make_unique<std::atomic<int64_t>>(0).release();
  } else if (IsSymlink()) {
    payload_.target = std::make_unique<std::string>(init.target).release();
    size_.store(init.target.size(), std::memory_order_relaxed);
  }
  live_objects::Add(KindOf(*this), 1);
}

Inode::~Inode() {
  live_objects::Add(KindOf(*this), -1);
  if (synthetic_) {
    delete payload_.synthetic;
  } else if (IsDirectory()) {
    delete payload_.directory;
  } else if (linux_abi::IsFifo(mode())) {
    delete payload_.fifo_readers;
  } else if (IsSymlink()) {
    delete payload_.target;
  }
}

namespace {

// relatime_need_update().
bool NeedsAccessTime(const InodeAttributes& attributes, Timestamp now) {
  constexpr int64_t kDaySeconds = 24 * 60 * 60;
  const bool stale = attributes.atime <= attributes.mtime ||
                     attributes.atime <= attributes.ctime ||
                     now.seconds() - attributes.atime.seconds() >= kDaySeconds;
  return stale && attributes.atime != now;
}

}  // namespace

bool Inode::IsAccessTimeStale() const {
  return NeedsAccessTime(ReadAttributes(), Timestamp::Now());
}

void Inode::TouchAccessTime() {
  const Timestamp now = Timestamp::Now();
  if (!NeedsAccessTime(ReadAttributes(), now)) return;
  sync::SeqLockWriter writer(attribute_lock);
  SetAccessTime(now);
}

void PutInode(Inode* inode) {
  if (inode->references.Put()) sync::RcuDelete(inode);
}

namespace {

void RetireInode(void* inode) { sync::RcuDelete(static_cast<Inode*>(inode)); }

}  // namespace

void PutNamespaceReference(Inode& inode) {
  if (inode.references.PutBase(&inode, &RetireInode)) RetireInode(&inode);
}

void DropNamespaceReference(Inode& inode) {
  // Where others still hold it, or its count was spread, the end comes later.
  if (inode.references.PutBase(&inode, &RetireInode))
    std::unique_ptr<Inode>(&inode).reset();
}

bool Directory::ByCookie::operator()(const Dentry* a, const Dentry* b) const {
  return a->cookie() < b->cookie();
}
bool Directory::ByCookie::operator()(const Dentry* a, uint64_t b) const {
  return a->cookie() < b;
}
bool Directory::ByCookie::operator()(uint64_t a, const Dentry* b) const {
  return a < b->cookie();
}

Directory::~Directory() {
  if (!is_root_) PutInode(parent());
}

void Directory::SetParent(Inode& parent) {
  parent.references.Get();
  Inode* const former = is_root_ ? nullptr : this->parent();
  is_root_ = false;
  // release: who finds the new parent by ".." sees it initialized.
  parent_.store(&parent, std::memory_order_release);
  if (former != nullptr) PutInode(former);
}

}  // namespace vfsd::vfs
