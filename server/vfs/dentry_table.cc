#include "server/vfs/dentry_table.h"

#include <cassert>
#include <cstring>
#include <new>
#include <random>

#include "server/sync/rcu.h"

namespace vfsd::vfs {
namespace {

// More than that is not believed before it is there.
constexpr uint32_t kMaxReservedBits = 24;

void RetireDentry(Dentry* dentry) {
  sync::RcuRetire(dentry, [](void* retired) {
    Dentry::Delete(static_cast<Dentry*>(retired));
  });
}

}  // namespace

const NameHashSeed DentryTable::seed_ = [] {
  std::random_device random;
  const auto word = [&random] {
    return (uint64_t{random()} << 32 | random()) | 1;
  };
  return NameHashSeed{word(), word()};
}();

DentryTable::Array DentryTable::Array::New(uint32_t capacity_bits) {
  const size_t bytes = sizeof(std::atomic<uint64_t>) << capacity_bits;
  void* const memory = ::operator new(bytes, std::align_val_t{kAlignment});
  std::memset(memory, 0, bytes);
  static_assert(kEmpty == 0);
  return Array(reinterpret_cast<uint64_t>(memory) | capacity_bits);
}

void DentryTable::Array::Delete() {
  if (!empty()) ::operator delete(slots(), std::align_val_t{kAlignment});
}

void DentryTable::Array::Retire() {
  if (empty()) return;
  sync::RcuRetire(slots(), [](void* retired) {
    ::operator delete(retired, std::align_val_t{kAlignment});
  });
}

DentryTable::~DentryTable() {
  assert(size() == 0);
  for (size_t i = 0; i < (size_t{1} << kShardBits); ++i) {
    Array(shards_[i].array.load(std::memory_order_relaxed)).Delete();
  }
}

std::atomic<uint64_t>& DentryTable::SlotOf(Array array, const Dentry* dentry) {
  const uint64_t packed = Pack(dentry);
  const uint32_t mask = array.capacity() - 1;
  for (uint32_t i = FirstSlot(dentry->hash());; ++i) {
    // relaxed: the shard's mutex is held.
    const uint64_t slot = array[i & mask].load(std::memory_order_relaxed);
    assert(slot != kEmpty);
    if (slot == packed) return array[i & mask];
  }
}

void DentryTable::Place(Array array, Dentry* dentry) {
  const uint32_t mask = array.capacity() - 1;
  for (uint32_t i = FirstSlot(dentry->hash());; ++i) {
    if (array[i & mask].load(std::memory_order_relaxed) == kEmpty) {
      // release: pairs with Find's acquire.
      array[i & mask].store(Pack(dentry), std::memory_order_release);
      return;
    }
  }
}

void DentryTable::Rebuild(Shard& shard) {
  Array old(shard.array.load(std::memory_order_relaxed));
  const uint32_t live = shard.live.load(std::memory_order_relaxed);
  uint32_t bits = kMinCapacityBits;
  // At most half full afterwards, also where tombstones were the reason.
  while ((uint32_t{1} << bits) < 2 * (live + 1)) ++bits;
  const Array fresh = Array::New(bits);
  if (!old.empty()) {
    // The hashes stand in the dentries: fetch ahead, since each is a cache
    // miss.
    constexpr uint32_t kAhead = 16;
    for (uint32_t i = 0; i < old.capacity(); ++i) {
      if (i + kAhead < old.capacity()) {
        const uint64_t next = old[i + kAhead].load(std::memory_order_relaxed);
        if (next > kTombstone) __builtin_prefetch(Unpack(next));
      }
      const uint64_t slot = old[i].load(std::memory_order_relaxed);
      if (slot > kTombstone) Place(fresh, Unpack(slot));
    }
  }
  shard.used = live;
  // release: pairs with Find's acquire.
  shard.array.store(fresh.word(), std::memory_order_release);
  // Only now: a grace period that ended before the store would not have waited
  // for a reader that finds the old array after it.
  old.Retire();
}

void DentryTable::Reserve(size_t names) {
  constexpr size_t kShards = size_t{1} << kShardBits;
  // Names are spread evenly, give or take. (4/5: as in Insert.)
  const size_t of_shard = names / kShards + names / kShards / 16 + 1;
  uint32_t bits = kMinCapacityBits;
  while ((size_t{4} << bits) < 5 * of_shard && bits < kMaxReservedBits) ++bits;
  if (bits == kMinCapacityBits) return;
  for (size_t i = 0; i < kShards; ++i) {
    Shard& shard = shards_[i];
    absl::MutexLock lock(&shard.mu);
    Array(shard.array.load(std::memory_order_relaxed)).Delete();
    shard.array.store(Array::New(bits).word(), std::memory_order_release);
  }
}

void DentryTable::Insert(Dentry* dentry) {
  Shard& shard = ShardOf(dentry->hash());
  absl::MutexLock lock(&shard.mu);
  Array array(shard.array.load(std::memory_order_relaxed));
  // At most 4/5 of the slots are in use.
  if (array.empty() || 5 * (shard.used + 1) > 4 * array.capacity()) {
    Rebuild(shard);
    array = Array(shard.array.load(std::memory_order_relaxed));
  }
  Place(array, dentry);
  ++shard.used;
  shard.live.store(shard.live.load(std::memory_order_relaxed) + 1,
                   std::memory_order_relaxed);
}

void DentryTable::Replace(Dentry* old, Dentry* replacement) {
  assert(replacement->Matches(&old->parent(), old->hash(), old->name()));
  Shard& shard = ShardOf(old->hash());
  {
    absl::MutexLock lock(&shard.mu);
    SlotOf(Array(shard.array.load(std::memory_order_relaxed)), old)
        .store(Pack(replacement), std::memory_order_release);
  }
  RetireDentry(old);
}

void DentryTable::Remove(Dentry* dentry) {
  Shard& shard = ShardOf(dentry->hash());
  {
    absl::MutexLock lock(&shard.mu);
    // The tombstone keeps probes going; used still counts it.
    SlotOf(Array(shard.array.load(std::memory_order_relaxed)), dentry)
        .store(kTombstone, std::memory_order_release);
    const uint32_t live = shard.live.load(std::memory_order_relaxed) - 1;
    shard.live.store(live, std::memory_order_relaxed);
    // After a tree was removed: misses would probe through its tombstones, and
    // the array would stay as large as the tree was. Small ones are left to
    // the next insertions.
    if (shard.used > kSmall && live < shard.used / 4) Rebuild(shard);
  }
  RetireDentry(dentry);
}

void DentryTable::Drain(absl::FunctionRef<void(Dentry*)> take) {
  for (size_t i = 0; i < (size_t{1} << kShardBits); ++i) {
    Shard& shard = shards_[i];
    absl::MutexLock lock(&shard.mu);
    Array array(shard.array.exchange(0, std::memory_order_relaxed));
    shard.used = 0;
    shard.live.store(0, std::memory_order_relaxed);
    if (array.empty()) continue;
    for (uint32_t slot = 0; slot < array.capacity(); ++slot) {
      const uint64_t value = array[slot].load(std::memory_order_relaxed);
      if (value > kTombstone) take(Unpack(value));
    }
    array.Delete();
  }
}

size_t DentryTable::size() const {
  size_t size = 0;
  for (size_t i = 0; i < (size_t{1} << kShardBits); ++i) {
    size += shards_[i].live.load(std::memory_order_relaxed);
  }
  return size;
}

size_t DentryTable::memory_bytes() const {
  size_t bytes = sizeof(Shard) << kShardBits;
  for (size_t i = 0; i < (size_t{1} << kShardBits); ++i) {
    const Array array(shards_[i].array.load(std::memory_order_relaxed));
    if (!array.empty()) bytes += array.capacity() * sizeof(uint64_t);
  }
  return bytes;
}

}  // namespace vfsd::vfs
