// DentryTable: (directory, name) → dentry, for lock-free readers.
//
// An open-addressing table of tagged pointers in shards. A slot holds a pointer
// with 16 bits of the name's hash in its unused upper bits, so that a probe
// touches a dentry only when it is very likely the right one. Names live in the
// dentries. liburcu's cds_lfht was measured first: a five-component walk in a
// tree of a million files took it 226 ns hot and 1,760 ns at random, against 78
// and 585 here.
//
// Writers. Each shard has a mutex; a writer also holds the directory's mutex
// (which orders changes of one directory). A shard that gets full, or is mostly
// tombstones, is copied to an array of the right size, which bounds what one
// change can take; the old array stays as it was and is freed after a grace
// period.
//
// What a reader may rely on, in an RCU read section:
//  - it finds a dentry that was in the table during the whole of Find;
//  - a miss means that the name was absent at some moment of Find. (Slots are
//    never moved within an array: a removal leaves a tombstone; Replace puts
//    the new dentry where the old one is. An array that was replaced keeps the
//    state of that moment.)
//  - so what needs two names to change at once (rename) takes Inode::walk_lock
//    of the directories besides, and readers check that.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "server/vfs/dentry.h"
#include "server/vfs/name_bytes.h"

namespace vfsd::vfs {

class DentryTable {
 public:
  DentryTable() = default;
  // REQUIRES: empty (Drain).
  ~DentryTable();

  // The key's hash. Seeded anew in each process: clients choose names.
  static uint32_t Hash(const Inode* parent, std::string_view name) {
    return HashName(seed_, parent, name);
  }

  // In an RCU read section, or with the directory's mutex held. Null: none.
  [[gnu::always_inline]] inline Dentry* Find(const Inode* parent, uint32_t hash,
                                             std::string_view name) const {
    // acquire: the array's slots are initialized.
    const Array array(ShardOf(hash).array.load(std::memory_order_acquire));
    if (array.empty()) return nullptr;
    const uint32_t mask = array.capacity() - 1;
    const uint64_t tag = TagOf(hash);
    for (uint32_t i = FirstSlot(hash);; ++i) {
      // acquire: the dentry that the slot points to is initialized.
      const uint64_t slot = array[i & mask].load(std::memory_order_acquire);
      if (slot == kEmpty) return nullptr;
      if ((slot & ~kPointerMask) != tag || slot == kTombstone) continue;
      Dentry* const dentry = Unpack(slot);
      PrefetchInode(dentry);
      if (dentry->Matches(parent, hash, name)) [[likely]]
        return dentry;
    }
  }

  // Fetches the place of a name into the cache, for whoever is going to look it
  // up a little later. As Find.
  void Prefetch(const Inode* parent, std::string_view name) const {
    const uint32_t hash = Hash(parent, name);
    const Array array(ShardOf(hash).array.load(std::memory_order_acquire));
    if (!array.empty())
      __builtin_prefetch(&array[FirstSlot(hash) & (array.capacity() - 1)]);
  }

  // Makes room for so many names before the first, so that no array must grow.
  // REQUIRES: no name yet, and no reader.
  void Reserve(size_t names);

  // REQUIRES for all three: the directory's mutex, exclusively.
  // Insert: the name is not in the table.
  void Insert(Dentry* dentry);
  // The same directory and name; no reader ever misses the name. `old` is
  // retired.
  void Replace(Dentry* old, Dentry* replacement);
  // `dentry` is retired.
  void Remove(Dentry* dentry);

  // Takes everything out and gives it to `take`, one after the other.
  // REQUIRES: no reader and no writer any more.
  void Drain(absl::FunctionRef<void(Dentry*)> take);

  size_t size() const;
  // Bytes of the arrays.
  size_t memory_bytes() const;

 private:
  static constexpr uint32_t kShardBits = 11;
  static constexpr uint32_t kMinCapacityBits = 3;
  // Slots in use up to which an array is not worth shrinking.
  static constexpr uint32_t kSmall = 16;

  // Slot values: empty, tombstone, else tag << 48 | pointer.
  static constexpr uint64_t kEmpty = 0;
  static constexpr uint64_t kTombstone = 1;
  static constexpr int kTagShift = 48;
  static constexpr uint64_t kPointerMask = (uint64_t{1} << kTagShift) - 1;

  // 16 hash bits that do not choose the shard. (They have a part in the slot:
  // of two dentries with one home slot more share a tag than one in 65,536,
  // about one in 128.) Never such that a value could be mistaken for kTombstone
  // (a dentry's address is larger than that).
  static uint64_t TagOf(uint32_t hash) {
    return static_cast<uint64_t>(hash & 0xffff) << kTagShift;
  }
  static uint64_t Pack(const Dentry* dentry) {
    return TagOf(dentry->hash()) | reinterpret_cast<uint64_t>(dentry);
  }
  static Dentry* Unpack(uint64_t slot) {
    return reinterpret_cast<Dentry*>(slot & kPointerMask);
  }
  // An inode and its first name are made one after the other, so the allocator
  // has mostly put them side by side: where the dentry is not in the cache, the
  // inode comes with it instead of after it. Only a hint.
  static void PrefetchInode(const Dentry* dentry) {
    const char* const address = reinterpret_cast<const char*>(dentry);
    __builtin_prefetch(address - 32);
    __builtin_prefetch(address - 96);
  }
  // To be taken modulo the capacity. The shard takes the hash's upper bits; the
  // slot, all of it, mixed.
  static uint32_t FirstSlot(uint32_t hash) { return (hash * 0x9E3779B1U) >> 7; }

  // Slots, and how many, in one word, so that a look-up has both with the
  // shard's cache line: the slots begin at a cache line, which leaves the
  // address's lower bits for the capacity's logarithm.
  class Array {
   public:
    static constexpr uint64_t kAlignment = 64;

    Array() = default;
    explicit Array(uint64_t word) : word_(word) {}
    static Array New(uint32_t capacity_bits);
    void Delete();
    // After a grace period.
    void Retire();

    uint64_t word() const { return word_; }
    bool empty() const { return word_ == 0; }
    uint32_t capacity() const {
      return uint32_t{1} << (word_ & (kAlignment - 1));
    }
    std::atomic<uint64_t>& operator[](uint32_t index) const {
      return slots()[index];
    }

   private:
    std::atomic<uint64_t>* slots() const {
      return reinterpret_cast<std::atomic<uint64_t>*>(word_ &
                                                      ~(kAlignment - 1));
    }
    uint64_t word_ = 0;
  };
  struct alignas(64) Shard {
    std::atomic<uint64_t> array{0};  // an Array's word
    absl::Mutex mu;
    uint32_t used ABSL_GUARDED_BY(mu) = 0;  // dentries and tombstones
    std::atomic<uint32_t> live{0};          // dentries; written under mu
  };

  Shard& ShardOf(uint32_t hash) const {
    return shards_[hash >> (32 - kShardBits)];
  }
  // The slot of `dentry`, which is there.
  static std::atomic<uint64_t>& SlotOf(Array array, const Dentry* dentry);
  static void Place(Array array, Dentry* dentry);
  // Copies what is live to a new array of the right size.
  void Rebuild(Shard& shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);

  static const NameHashSeed seed_;

  std::unique_ptr<Shard[]> shards_ =
      std::make_unique<Shard[]>(size_t{1} << kShardBits);
};

}  // namespace vfsd::vfs
