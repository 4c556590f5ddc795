#include "server/vfs/mount.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "server/sync/rcu.h"
#include "server/vfs/file_system_end.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/namespace_generation.h"

namespace vfsd::vfs {

Mount::Mount(std::shared_ptr<FileSystem> file_system, PinnedInode root,
             Mount* parent, PinnedInode mountpoint, std::string path,
             MountOptions options, uint64_t id)
    : file_system_(std::move(file_system)),
      root_(std::move(root)),
      parent_(parent),
      holds_parent_(parent != nullptr),
      mountpoint_(std::move(mountpoint)),
      path_(std::move(path)),
      id_(id),
      direct_io_(!options.no_direct_io),
      read_only_(options.read_only) {
  if (holds_parent_) parent_->Get();
  live_objects::Add(ObjectKind::kMount, 1);
}

Mount::~Mount() {
  // Its memory, and that of its file system's directories, will be others'.
  const NamespaceChange change;
  live_objects::Add(ObjectKind::kMount, -1);
  if (holds_parent_) parent_->Put();
}

void Mount::Get() {
  // The section makes Unmount wait for a count that goes to the shards.
  const sync::RcuReadSection section;
  if (state_.load(std::memory_order_acquire) == State::kMounted) [[likely]] {
    counters_.Add(Counter::kReferences, 1);
  } else {
    // relaxed: the caller's own reference keeps the mount.
    exact_references_.fetch_add(1, std::memory_order_relaxed);
  }
}

bool Mount::TryGet() {
  // The caller's section: see the head of mount.h.
  if (state_.load(std::memory_order_acquire) != State::kMounted) return false;
  counters_.Add(Counter::kReferences, 1);
  return true;
}

void Mount::Put() {
  const sync::RcuReadSection section;
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::kMounted) [[likely]] {
    counters_.Add(Counter::kReferences, -1);
    return;
  }
  // acq_rel: all uses by all holders come before the end.
  const int64_t before =
      exact_references_.fetch_sub(1, std::memory_order_acq_rel);
  if (before == 1 && state == State::kDetached) sync::RcuRetire(this, &End);
}

void Mount::End(void* ended) {
  std::unique_ptr<Mount> mount(static_cast<Mount*>(ended));
  std::shared_ptr<FileSystem> file_system = mount->file_system_;
  mount.reset();
  DropFileSystem(std::move(file_system));
}

Errno Mount::WantWrite() {
  for (;;) {
    {
      const sync::RcuReadSection section;
      // The section makes SetReadOnly wait for a count that was begun here.
      if (!write_hold_.load(std::memory_order_seq_cst)) {
        if (read_only()) return Errno::kEROFS;
        counters_.Add(Counter::kWriters, 1);
        return Errno::kOk;
      }
    }
    // Somebody is switching to read-only and waits for a grace period.
    std::this_thread::yield();
  }
}

MountTable::~MountTable() {
  absl::MutexLock lock(&mu_);
  // From the last mounted on: a child before its parent.
  const std::unique_ptr<const Snapshot> mounts(mounts_.exchange(nullptr));
  if (mounts == nullptr) return;
  for (auto it = mounts->rbegin(); it != mounts->rend(); ++it) {
    (*it)->file_system().SetMountTable(nullptr);
    std::unique_ptr<Mount>(*it).reset();
  }
}

void MountTable::LeaveNamespace(const Snapshot& left, FileSystem& file_system) {
  const bool is_elsewhere = std::ranges::any_of(left, [&](const Mount* mount) {
    return &mount->file_system() == &file_system;
  });
  if (!is_elsewhere) file_system.SetMountTable(nullptr);
}

void MountTable::Publish(std::unique_ptr<Snapshot> snapshot) {
  const Snapshot* const old =
      mounts_.exchange(snapshot.release(), std::memory_order_acq_rel);
  if (old != nullptr) sync::RcuDelete(const_cast<Snapshot*>(old));
}

Mount* MountTable::MountTop(std::shared_ptr<FileSystem> file_system,
                            MountOptions options) {
  absl::MutexLock lock(&mu_);
  Inode& root = file_system->root();
  auto mount =
      std::make_unique<Mount>(std::move(file_system), PinnedInode::Share(root),
                              nullptr, PinnedInode(), "/", options, next_id_++);
  mount->file_system().SetMountTable(this);
  auto snapshot = std::make_unique<Snapshot>(Snapshot{mount.get()});
  Publish(std::move(snapshot));
  return mount.release();
}

Result<Mount*> MountTable::MountOn(std::shared_ptr<FileSystem> file_system,
                                   Mount& parent, PinnedInode mountpoint,
                                   std::string path, MountOptions options,
                                   PinnedInode root) {
  if (!root) root = PinnedInode::Share(file_system->root());
  if (!root->IsDirectory() || !mountpoint->IsDirectory())
    return Fail(Errno::kENOTDIR);
  if (root->HasFlag(kInodeDead)) return Fail(Errno::kENOENT);
  // Who removes the mountpoint holds this too while it looks for mounts.
  Inode& covered = *mountpoint;
  absl::MutexLock names_lock(&covered.directory().mu);
  absl::MutexLock lock(&mu_);
  const NamespaceChange change;
  if (parent.state_.load() != Mount::State::kMounted)
    return Fail(Errno::kEBUSY);
  if (mountpoint->HasFlag(kInodeDead)) return Fail(Errno::kENOENT);
  auto mount = std::make_unique<Mount>(std::move(file_system), std::move(root),
                                       &parent, std::move(mountpoint),
                                       std::move(path), options, next_id_++);
  auto snapshot = std::make_unique<Snapshot>(*mounts_.load());
  mount->file_system().SetMountTable(this);
  snapshot->push_back(mount.get());
  Publish(std::move(snapshot));
  covered.SetFlag(kInodeMountPoint);
  return mount.release();
}

Errno MountTable::UnmountById(uint64_t id, bool lazy) {
  absl::MutexLock lock(&mu_);
  const Snapshot& mounts = *mounts_.load();
  const auto it = std::ranges::find(mounts, id, &Mount::id);
  if (it == mounts.end()) return Errno::kEINVAL;
  if ((*it)->parent_ == nullptr) return Errno::kEBUSY;
  return DetachTree(**it, lazy);
}

Errno MountTable::DetachTree(Mount& mount, bool lazy) {
  // The mounts in it, a parent before its children.
  std::vector<Mount*> below;
  for (Mount* const other : *mounts_.load()) {
    const bool is_below =
        other->parent_ == &mount ||
        std::find(below.begin(), below.end(), other->parent_) != below.end();
    if (is_below) below.push_back(other);
  }
  if (!lazy && !below.empty()) return Errno::kEBUSY;
  for (auto it = below.rbegin(); it != below.rend(); ++it) Detach(**it, lazy);
  return Detach(mount, lazy);
}

Errno MountTable::Detach(Mount& mount, bool lazy) {
  const Snapshot& mounts = *mounts_.load();
  const NamespaceChange change;
  mount.state_.store(Mount::State::kUnmounting, std::memory_order_seq_cst);
  sync::RcuSynchronize();
  // Nobody changes the shards now.
  const int64_t sharded = mount.counters_.Sum(Mount::Counter::kReferences);
  mount.counters_.Add(Mount::Counter::kReferences, -sharded);
  mount.exact_references_.fetch_add(sharded, std::memory_order_acq_rel);
  if (!lazy && mount.exact_references_.load(std::memory_order_acquire) != 0) {
    mount.state_.store(Mount::State::kMounted, std::memory_order_seq_cst);
    return Errno::kEBUSY;
  }
  auto snapshot = std::make_unique<Snapshot>(mounts);
  std::erase(*snapshot, &mount);
  const bool covered_elsewhere = std::any_of(
      snapshot->begin(), snapshot->end(), [&mount](const Mount* other) {
        return other->mountpoint() == mount.mountpoint();
      });
  if (!covered_elsewhere) mount.mountpoint()->ClearFlag(kInodeMountPoint);
  LeaveNamespace(*snapshot, mount.file_system());
  // A reference of our own keeps it until every Put that did not yet see it
  // detached, and so would not end it, is over.
  mount.Get();
  mount.state_.store(Mount::State::kDetached, std::memory_order_seq_cst);
  Publish(std::move(snapshot));
  sync::RcuSynchronize();
  // Nobody goes up from here any more: the mount above is free to be unmounted
  // too, at once and not when this one's memory goes.
  mount.holds_parent_ = false;
  mount.parent_->Put();
  mount.Put();
  return Errno::kOk;
}

void MountTable::DetachMountsOn(const Inode& removed) {
  absl::MutexLock lock(&mu_);
  for (;;) {
    const Snapshot& mounts = *mounts_.load();
    const auto it = std::ranges::find(mounts, &removed, &Mount::mountpoint);
    if (it == mounts.end()) return;
    DetachTree(**it, /*lazy=*/true);
  }
}

Errno MountTable::SetReadOnly(Mount& mount, bool read_only) {
  absl::MutexLock lock(&mu_);
  if (!read_only) {
    mount.read_only_.store(false);
    return Errno::kOk;
  }
  // After the grace period a writer either is in the sum or waits for us.
  mount.write_hold_.store(true, std::memory_order_seq_cst);
  sync::RcuSynchronize();
  const bool busy = mount.counters_.Sum(Mount::Counter::kWriters) > 0;
  if (!busy) mount.read_only_.store(true);
  mount.write_hold_.store(false, std::memory_order_seq_cst);
  return busy ? Errno::kEBUSY : Errno::kOk;
}

Mount* MountTable::FindChild(const Mount* parent, const Inode* inode) const {
  const Snapshot* const mounts = mounts_.load(std::memory_order_acquire);
  // From the last on: what was mounted later is on top.
  for (auto it = mounts->rbegin(); it != mounts->rend(); ++it) {
    if ((*it)->mountpoint() == inode && (*it)->parent() == parent) return *it;
  }
  return nullptr;
}

std::vector<Mount*> MountTable::List() const {
  return *mounts_.load(std::memory_order_acquire);
}

size_t MountTable::size() const {
  const sync::RcuReadSection section;
  return mounts_.load(std::memory_order_acquire)->size();
}

}  // namespace vfsd::vfs
