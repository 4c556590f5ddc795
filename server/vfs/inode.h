// Inode: a file of any type, apart from its names. Directory, symbolic link,
// device number or synthetic content hang on it.
//
// Lifetime. `references` counts: one for the namespace while nlink > 0 (a
// directory's while it is not removed), one for each PinnedInode (open files,
// walks that left RCU, mount roots). The last Put makes the inode unreachable
// and frees it after a grace period; readers that found it in an RCU read
// section may still look at it, and get a reference only by GetUnlessZero.
//
// Reading without locks. Fields are relaxed atomics:
//  - attributes (nlink, size, times, mode, owner) are changed under
//    `attribute_lock` and read whole by ReadAttributes;
//  - what a walk through a directory decides on (its mode, owner, and which two
//    names a rename changes together) is changed under `walk_lock` too.
//
// Who may change what: nlink, size and times of a directory change under its
// Directory::mu; a mode, owner or time under `attribute_lock` alone.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_set.h"
#include "absl/synchronization/mutex.h"
#include "server/base/timestamp.h"
#include "server/sync/seqlock.h"
#include "server/sync/spreading_count.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/synthetic_file.h"

namespace vfsd::vfs {

class Dentry;
class Directory;
class Inode;

// Bits of Inode::flags.
enum InodeFlag : uint16_t {
  // A removed directory: nothing may be created in it, nothing is found.
  kInodeDead = 1U << 0,
  // Something is mounted on it (in at least one mount of its file system).
  kInodeMountPoint = 1U << 1,
  // Its space is allocated: st_blocks follows from the size. Files made here
  // hold no content and are all hole; imported ones had content.
  kInodeAllocated = 1U << 2,
  // Made by O_TMPFILE without O_EXCL: it may get a name though it has none.
  kInodeLinkable = 1U << 3,
};

// What chmod, chown, utimensat, link, unlink and truncate change, read whole.
struct InodeAttributes {
  uint32_t mode = 0;
  uint32_t nlink = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint64_t size = 0;
  Timestamp atime;
  Timestamp mtime;
  Timestamp ctime;
  bool allocated = false;
};

class Inode {
 public:
  // What a new inode is. `mode` holds type and permissions.
  struct Init {
    uint32_t mode = 0;
    uint32_t uid = 0;
    uint32_t gid = 0;
    uint64_t ino = 0;
    uint32_t nlink = 1;
    uint64_t size = 0;
    Timestamp atime;
    Timestamp mtime;
    Timestamp ctime;
    Timestamp btime;
    uint64_t device = 0;      // of a device node: linux_abi::MakeDevice
    std::string_view target;  // of a symbolic link; not empty
    bool allocated = false;
    std::unique_ptr<SyntheticFile> synthetic;  // of a synthetic regular file
  };

  // One reference, which the caller owns. A directory's parent is set by
  // whoever links it.
  explicit Inode(Init init);
  ~Inode();
  Inode(const Inode&) = delete;
  Inode& operator=(const Inode&) = delete;

  // Type and permissions; the type never changes.
  uint32_t mode() const { return mode_.load(std::memory_order_relaxed); }
  uint32_t nlink() const { return nlink_.load(std::memory_order_relaxed); }
  uint32_t uid() const { return uid_.load(std::memory_order_relaxed); }
  uint32_t gid() const { return gid_.load(std::memory_order_relaxed); }
  uint64_t size() const { return size_.load(std::memory_order_relaxed); }
  uint64_t ino() const { return ino_; }
  Timestamp btime() const { return btime_; }

  bool IsDirectory() const { return linux_abi::IsDirectory(mode()); }
  bool IsSymlink() const { return linux_abi::IsSymlink(mode()); }
  bool IsRegular() const { return linux_abi::IsRegular(mode()); }
  // Its content comes from a SyntheticFile (proc).
  bool IsSynthetic() const { return synthetic_; }

  bool HasFlag(InodeFlag flag) const {
    return (flags_.load(std::memory_order_acquire) & flag) != 0;
  }
  void SetFlag(InodeFlag flag) {
    flags_.fetch_or(flag, std::memory_order_release);
  }
  void ClearFlag(InodeFlag flag) {
    flags_.fetch_and(static_cast<uint16_t>(~flag), std::memory_order_release);
  }

  // REQUIRES: of that type.
  Directory& directory() const { return *payload_.directory; }
  std::string_view symlink_target() const { return *payload_.target; }
  SyntheticFile& synthetic_file() const { return *payload_.synthetic; }
  // 0 for what is no device node.
  uint64_t device() const {
    return linux_abi::IsDevice(mode()) ? payload_.device : 0;
  }

  // Open files that read this fifo. REQUIRES: a fifo.
  int64_t FifoReaders() const {
    return payload_.fifo_readers->load(std::memory_order_relaxed);
  }
  void AddFifoReaders(int64_t delta) {
    payload_.fifo_readers->fetch_add(delta, std::memory_order_relaxed);
  }

  // All attributes of one moment.
  InodeAttributes ReadAttributes() const;

  // Writers; the caller is in a SeqLockWriter section of attribute_lock.
  void SetPermissions(uint32_t permissions) {
    mode_.store((mode() & linux_abi::kSIfmt) |
                    (permissions & linux_abi::kPermissionBits),
                std::memory_order_relaxed);
  }
  void SetOwner(uint32_t uid, uint32_t gid) {
    uid_.store(uid, std::memory_order_relaxed);
    gid_.store(gid, std::memory_order_relaxed);
  }
  void SetLinkCount(uint32_t nlink) {
    nlink_.store(nlink, std::memory_order_relaxed);
  }
  void SetSize(uint64_t size) { size_.store(size, std::memory_order_relaxed); }
  void SetAccessTime(Timestamp time) {
    atime_.store(time.packed(), std::memory_order_relaxed);
  }
  void SetModifyTime(Timestamp time) {
    mtime_.store(time.packed(), std::memory_order_relaxed);
  }
  void SetChangeTime(Timestamp time) {
    ctime_.store(time.packed(), std::memory_order_relaxed);
  }

  // relatime (touch_atime, relatime_need_update): updates the access time if it
  // is not later than modification or change, or older than a day.
  void TouchAccessTime();
  // TouchAccessTime would change it.
  bool IsAccessTimeStale() const;

  // The walk through this directory depends on what it guards; see above.
  mutable sync::SeqLock walk_lock;
  mutable sync::SeqLock attribute_lock;
  // The namespace's reference is the base one: a file that has a name may be
  // spread.
  sync::SpreadingCount references{1};

 private:
  std::atomic<uint32_t> mode_;
  std::atomic<uint32_t> nlink_;
  std::atomic<uint32_t> uid_;
  std::atomic<uint32_t> gid_;
  std::atomic<uint16_t> flags_;
  const bool synthetic_;
  union {
    Directory* directory;                // owned
    std::string* target;                 // owned
    SyntheticFile* synthetic;            // owned
    std::atomic<int64_t>* fifo_readers;  // owned
    uint64_t device;
  } payload_;
  const uint64_t ino_;
  std::atomic<uint64_t> size_;
  std::atomic<uint64_t> atime_;
  std::atomic<uint64_t> mtime_;
  std::atomic<uint64_t> ctime_;
  const Timestamp btime_;
};

inline InodeAttributes Inode::ReadAttributes() const {
  for (;;) {
    const uint32_t begin = attribute_lock.ReadBeginEven();
    InodeAttributes attributes;
    attributes.mode = mode();
    attributes.nlink = nlink();
    attributes.uid = uid();
    attributes.gid = gid();
    attributes.size = size();
    attributes.atime =
        Timestamp::FromPacked(atime_.load(std::memory_order_relaxed));
    attributes.mtime =
        Timestamp::FromPacked(mtime_.load(std::memory_order_relaxed));
    attributes.ctime =
        Timestamp::FromPacked(ctime_.load(std::memory_order_relaxed));
    attributes.allocated = HasFlag(kInodeAllocated);
    if (attribute_lock.ReadValid(begin)) return attributes;
  }
}

// Drops a reference; the last one ends the inode, after a grace period. From
// any thread; does not wait.
void PutInode(Inode* inode);

// The namespace's reference: the caller's becomes it with the first name, and
// it goes with the last.
inline void MakeNamespaceReference(Inode& inode) {
  inode.references.MakeBase();
}
void PutNamespaceReference(Inode& inode);
// The same in a file system that ends, where no reader can be any more: the
// last reference frees the inode at once, and keeps nobody's reclaim waiting.
void DropNamespaceReference(Inode& inode);

// A reference to an inode, owned.
class PinnedInode {
 public:
  PinnedInode() = default;
  // Takes over a reference that the caller holds.
  static PinnedInode Adopt(Inode* inode) { return PinnedInode(inode); }
  // Takes a reference of its own; the caller's keeps the inode meanwhile.
  static PinnedInode Share(Inode& inode) {
    inode.references.Get();
    return PinnedInode(&inode);
  }
  // In an RCU read section: empty if the inode is dead.
  static PinnedInode TryShare(Inode& inode) {
    return PinnedInode(inode.references.GetUnlessZero() ? &inode : nullptr);
  }
  PinnedInode(PinnedInode&& other) noexcept
      : inode_(std::exchange(other.inode_, nullptr)) {}
  PinnedInode& operator=(PinnedInode&& other) noexcept {
    if (this != &other) {
      Reset();
      inode_ = std::exchange(other.inode_, nullptr);
    }
    return *this;
  }
  ~PinnedInode() { Reset(); }

  void Reset() {
    if (inode_ != nullptr) PutInode(std::exchange(inode_, nullptr));
  }
  // Gives the reference to the caller.
  [[nodiscard]] Inode* Release() { return std::exchange(inode_, nullptr); }

  Inode* get() const { return inode_; }
  Inode& operator*() const { return *inode_; }
  Inode* operator->() const { return inode_; }
  explicit operator bool() const { return inode_ != nullptr; }

 private:
  explicit PinnedInode(Inode* inode) : inode_(inode) {}
  Inode* inode_ = nullptr;
};

// What makes an inode a directory.
class Directory {
 public:
  // Orders dentries by creation in their directory, so that a cursor stays
  // right whatever comes and goes.
  struct ByCookie {
    using is_transparent = void;
    bool operator()(const Dentry* a, const Dentry* b) const;
    bool operator()(const Dentry* a, uint64_t b) const;
    bool operator()(uint64_t a, const Dentry* b) const;
  };
  using Children = absl::btree_set<Dentry*, ByCookie>;

  Directory() = default;
  ~Directory();

  // The directory above, or the directory itself at a file system's root. The
  // directory holds a reference to it (not at the root), also after its own
  // removal: ".." goes on working.
  Inode* parent() const { return parent_.load(std::memory_order_acquire); }
  // The root of a file system: `self` is its own parent, without a reference.
  void SetRoot(Inode& self) { parent_.store(&self, std::memory_order_release); }
  // Takes a reference to `parent` and drops the one to the former parent, if
  // any. REQUIRES: rename mutex, or not published yet.
  void SetParent(Inode& parent);

  // Held to change the directory's names, and shared by the locked walk and
  // readdir. Order: parent before child, else by address (rename.cc).
  mutable absl::Mutex mu;
  Children children ABSL_GUARDED_BY(mu);
  // The next child's cookie; 0 is readdir's start, so the first is 1.
  uint64_t next_cookie ABSL_GUARDED_BY(mu) = 1;

 private:
  std::atomic<Inode*> parent_{nullptr};
  bool is_root_ = true;  // until SetParent; guarded like parent_'s writers
};

}  // namespace vfsd::vfs
