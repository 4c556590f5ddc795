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
// (which orders changes of one directory). A shard that gets full is copied to
// a larger array, which bounds what one insertion can take; the old array stays
// as it was and is freed after a grace period.
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

namespace vfsd::vfs {

class DentryTable {
 public:
  DentryTable() = default;
  // REQUIRES: empty (Drain).
  ~DentryTable();

  // The key's hash. Seeded anew in each process: clients choose names.
  static uint32_t Hash(const Inode* parent, std::string_view name);

  // In an RCU read section, or with the directory's mutex held. Null: none.
  Dentry* Find(const Inode* parent, uint32_t hash, std::string_view name) const;

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
  static constexpr uint32_t kShardBits = 10;
  static constexpr uint32_t kMinCapacity = 8;

  // Slot values: 0 empty, 1 tombstone, else tag << 48 | pointer.
  struct Array {
    explicit Array(uint32_t array_capacity);
    const uint32_t capacity;  // a power of two
    std::unique_ptr<std::atomic<uint64_t>[]> slots;
  };
  struct alignas(64) Shard {
    std::atomic<Array*> array{nullptr};
    absl::Mutex mu;
    uint32_t used ABSL_GUARDED_BY(mu) = 0;  // dentries and tombstones
    std::atomic<uint32_t> live{0};          // dentries; written under mu
  };

  Shard& ShardOf(uint32_t hash) const {
    return shards_[hash >> (32 - kShardBits)];
  }
  // The slot of `dentry`, which is there.
  static std::atomic<uint64_t>& SlotOf(const Array& array,
                                       const Dentry* dentry);
  static void Place(Array& array, Dentry* dentry);
  void Grow(Shard& shard) ABSL_EXCLUSIVE_LOCKS_REQUIRED(shard.mu);

  std::unique_ptr<Shard[]> shards_ =
      std::make_unique<Shard[]>(size_t{1} << kShardBits);
};

}  // namespace vfsd::vfs
