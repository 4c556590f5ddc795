#include "server/vfs/dentry_table.h"

#include <cassert>
#include <cstring>
#include <random>

#include "server/sync/rcu.h"

namespace vfsd::vfs {
namespace {

constexpr uint64_t kEmpty = 0;
constexpr uint64_t kTombstone = 1;
constexpr int kTagShift = 48;
constexpr uint64_t kPointerMask = (uint64_t{1} << kTagShift) - 1;

// 16 hash bits that neither choose the shard nor, in an array of up to 2^12
// slots, the slot; never such that a value could be mistaken for kTombstone
// (a dentry's address is larger than that).
uint64_t TagOf(uint32_t hash) {
  return static_cast<uint64_t>(hash & 0xffff) << kTagShift;
}

uint64_t Pack(const Dentry* dentry) {
  return TagOf(dentry->hash()) | reinterpret_cast<uint64_t>(dentry);
}

Dentry* Unpack(uint64_t slot) {
  return reinterpret_cast<Dentry*>(slot & kPointerMask);
}

// The shard takes the hash's upper bits; the slot, all of it, mixed.
uint32_t FirstSlot(uint32_t hash, uint32_t capacity) {
  return (hash * 0x9E3779B1U) >> 7 & (capacity - 1);
}

void RetireDentry(Dentry* dentry) {
  sync::RcuRetire(dentry, [](void* retired) {
    Dentry::Delete(static_cast<Dentry*>(retired));
  });
}

uint64_t Mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

uint64_t Load(const char* data, size_t bytes) {
  uint64_t word = 0;
  std::memcpy(&word, data, bytes);
  return word;
}

struct HashSeed {
  uint64_t parent;
  uint64_t name;
};

const HashSeed& Seed() {
  static const HashSeed seed = [] {
    std::random_device random;
    const auto word = [&random] {
      return (uint64_t{random()} << 32 | random()) | 1;
    };
    return HashSeed{word(), word()};
  }();
  return seed;
}

}  // namespace

DentryTable::Array::Array(uint32_t array_capacity)
    : capacity(array_capacity),
      slots(std::make_unique<std::atomic<uint64_t>[]>(array_capacity)) {}

DentryTable::~DentryTable() {
  assert(size() == 0);
  for (size_t i = 0; i < (size_t{1} << kShardBits); ++i) {
    std::unique_ptr<Array>(shards_[i].array.load(std::memory_order_relaxed))
        .reset();
  }
}

uint32_t DentryTable::Hash(const Inode* parent, std::string_view name) {
  const HashSeed& seed = Seed();
  uint64_t hash =
      reinterpret_cast<uint64_t>(parent) * seed.parent ^ name.size();
  const char* data = name.data();
  size_t left = name.size();
  while (left > 8) {
    hash = Mix(hash ^ Load(data, 8), seed.name);
    data += 8;
    left -= 8;
  }
  hash = Mix(hash ^ Load(data, left), seed.name);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

Dentry* DentryTable::Find(const Inode* parent, uint32_t hash,
                          std::string_view name) const {
  // acquire: the array's slots are initialized.
  const Array* const array =
      ShardOf(hash).array.load(std::memory_order_acquire);
  if (array == nullptr) return nullptr;
  const uint32_t mask = array->capacity - 1;
  const uint64_t tag = TagOf(hash);
  for (uint32_t i = FirstSlot(hash, array->capacity);; i = (i + 1) & mask) {
    // acquire: the dentry that the slot points to is initialized.
    const uint64_t slot = array->slots[i].load(std::memory_order_acquire);
    if (slot == kEmpty) return nullptr;
    if ((slot & ~kPointerMask) != tag || slot == kTombstone) continue;
    Dentry* const dentry = Unpack(slot);
    if (dentry->Matches(parent, hash, name)) return dentry;
  }
}

std::atomic<uint64_t>& DentryTable::SlotOf(const Array& array,
                                           const Dentry* dentry) {
  const uint64_t packed = Pack(dentry);
  for (uint32_t i = FirstSlot(dentry->hash(), array.capacity);;
       i = (i + 1) & (array.capacity - 1)) {
    // relaxed: the shard's mutex is held.
    const uint64_t slot = array.slots[i].load(std::memory_order_relaxed);
    assert(slot != kEmpty);
    if (slot == packed) return array.slots[i];
  }
}

void DentryTable::Place(Array& array, Dentry* dentry) {
  for (uint32_t i = FirstSlot(dentry->hash(), array.capacity);;
       i = (i + 1) & (array.capacity - 1)) {
    if (array.slots[i].load(std::memory_order_relaxed) == kEmpty) {
      // release: pairs with Find's acquire.
      array.slots[i].store(Pack(dentry), std::memory_order_release);
      return;
    }
  }
}

void DentryTable::Grow(Shard& shard) {
  Array* const old = shard.array.load(std::memory_order_relaxed);
  const uint32_t live = shard.live.load(std::memory_order_relaxed);
  uint32_t capacity = kMinCapacity;
  // At most half full afterwards, also where tombstones were the reason.
  while (capacity < 2 * (live + 1)) capacity *= 2;
  auto larger = std::make_unique<Array>(capacity);
  if (old != nullptr) {
    // The hashes stand in the dentries: fetch ahead, since each is a cache
    // miss.
    constexpr uint32_t kAhead = 16;
    for (uint32_t i = 0; i < old->capacity; ++i) {
      if (i + kAhead < old->capacity) {
        const uint64_t next =
            old->slots[i + kAhead].load(std::memory_order_relaxed);
        if (next > kTombstone) __builtin_prefetch(Unpack(next));
      }
      const uint64_t slot = old->slots[i].load(std::memory_order_relaxed);
      if (slot > kTombstone) Place(*larger, Unpack(slot));
    }
  }
  shard.used = live;
  // release: pairs with Find's acquire.
  shard.array.store(larger.release(), std::memory_order_release);
  // Only now: a grace period that ended before the store would not have waited
  // for a reader that finds the old array after it.
  if (old != nullptr) sync::RcuDelete(old);
}

void DentryTable::Insert(Dentry* dentry) {
  Shard& shard = ShardOf(dentry->hash());
  absl::MutexLock lock(&shard.mu);
  Array* array = shard.array.load(std::memory_order_relaxed);
  // At most 4/5 of the slots are in use.
  if (array == nullptr || 5 * (shard.used + 1) > 4 * array->capacity) {
    Grow(shard);
    array = shard.array.load(std::memory_order_relaxed);
  }
  Place(*array, dentry);
  ++shard.used;
  shard.live.store(shard.live.load(std::memory_order_relaxed) + 1,
                   std::memory_order_relaxed);
}

void DentryTable::Replace(Dentry* old, Dentry* replacement) {
  assert(replacement->Matches(&old->parent(), old->hash(), old->name()));
  Shard& shard = ShardOf(old->hash());
  {
    absl::MutexLock lock(&shard.mu);
    SlotOf(*shard.array.load(std::memory_order_relaxed), old)
        .store(Pack(replacement), std::memory_order_release);
  }
  RetireDentry(old);
}

void DentryTable::Remove(Dentry* dentry) {
  Shard& shard = ShardOf(dentry->hash());
  {
    absl::MutexLock lock(&shard.mu);
    // The tombstone keeps probes going; used still counts it, so that a table
    // of tombstones is cleaned by Grow.
    SlotOf(*shard.array.load(std::memory_order_relaxed), dentry)
        .store(kTombstone, std::memory_order_release);
    shard.live.store(shard.live.load(std::memory_order_relaxed) - 1,
                     std::memory_order_relaxed);
  }
  RetireDentry(dentry);
}

void DentryTable::Drain(absl::FunctionRef<void(Dentry*)> take) {
  for (size_t i = 0; i < (size_t{1} << kShardBits); ++i) {
    Shard& shard = shards_[i];
    absl::MutexLock lock(&shard.mu);
    std::unique_ptr<Array> array(
        shard.array.exchange(nullptr, std::memory_order_relaxed));
    shard.used = 0;
    shard.live.store(0, std::memory_order_relaxed);
    if (array == nullptr) continue;
    for (uint32_t slot = 0; slot < array->capacity; ++slot) {
      const uint64_t value = array->slots[slot].load(std::memory_order_relaxed);
      if (value > kTombstone) take(Unpack(value));
    }
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
  const sync::RcuReadSection section;
  for (size_t i = 0; i < (size_t{1} << kShardBits); ++i) {
    const Array* const array = shards_[i].array.load(std::memory_order_acquire);
    if (array != nullptr)
      bytes += sizeof(Array) + array->capacity * sizeof(uint64_t);
  }
  return bytes;
}

}  // namespace vfsd::vfs
