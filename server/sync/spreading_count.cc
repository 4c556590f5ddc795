#include "server/sync/spreading_count.h"

#include <array>
#include <bit>
#include <memory>

#include "server/base/sharded_counter.h"
#include "server/sync/rcu.h"

namespace vfsd::sync {
namespace {

// Added to the exact count until the shards are in it, so that it cannot reach
// zero before.
constexpr int64_t kBias = int64_t{1} << 40;

// relaxed wherever it is used: whether a count spreads now or later changes
// nothing else.
std::atomic<bool> spreading_enabled{true};

}  // namespace

struct SpreadingCount::Block {
  ShardedCounter shards;
  // References at the moment of spreading.
  int64_t before = 0;
  std::atomic<int64_t> exact{kBias};
  // Of PutBase.
  void* object = nullptr;
  void (*end)(void*) = nullptr;

  int64_t Total() const { return before + shards.Sum(); }
};

// The blocks in use, by number. Without a lock, since counts are spread in read
// sections too. Lives for ever.
class SpreadingCount::Blocks {
 public:
  // 4 KB each.
  static constexpr uint32_t kLimit = 1024;

  static Blocks& Get() {
    static Blocks& blocks = *new Blocks;
    return blocks;
  }

  // kLimit: there is none left.
  uint32_t Take() {
    for (uint32_t word = 0; word < taken_.size(); ++word) {
      uint64_t taken = taken_[word].load(std::memory_order_relaxed);
      while (taken != ~uint64_t{0}) {
        const auto bit = static_cast<uint32_t>(std::countr_one(taken));
        // acquire: pairs with GiveBack's release.
        if (taken_[word].compare_exchange_weak(
                taken, taken | uint64_t{1} << bit, std::memory_order_acquire,
                std::memory_order_relaxed)) {
          const uint32_t number = word * 64 + bit;
          blocks_[number] = std::make_unique<Block>();
          return number;
        }
      }
    }
    return kLimit;
  }
  void GiveBack(uint32_t number) {
    blocks_[number].reset();
    // release: whoever takes the number finds its place empty.
    taken_[number / 64].fetch_and(~(uint64_t{1} << number % 64),
                                  std::memory_order_release);
  }
  // Of a word that is spread: whoever has one may use the block.
  Block& Of(uint32_t word) const { return *blocks_[word & (kLimit - 1)]; }

 private:
  Blocks() = default;

  // A bit a number.
  std::array<std::atomic<uint64_t>, kLimit / 64> taken_{};
  // An element is changed by who has taken its number, while no count has it.
  std::array<std::unique_ptr<Block>, kLimit> blocks_;
};

SpreadingCount::~SpreadingCount() {
  const uint32_t word = word_.load(std::memory_order_relaxed);
  if ((word & kSpread) != 0)
    Blocks::Get().GiveBack(word & (Blocks::kLimit - 1));
}

void SpreadingCount::SetSpreading(bool enabled) {
  spreading_enabled.store(enabled, std::memory_order_relaxed);
}

uint32_t SpreadingCount::Contended(uint32_t word) {
  // One collision is chance.
  constexpr uint32_t kCollisions = 16;
  thread_local uint32_t collisions = 0;
  if ((word & kSpread) != 0 || (word & kBased) == 0 ||
      ++collisions < kCollisions ||
      !spreading_enabled.load(std::memory_order_relaxed)) {
    return word;
  }
  collisions = 0;
  const uint32_t number = Blocks::Get().Take();
  if (number == Blocks::kLimit) return word;
  const uint32_t spread = kSpread | kBased | number;
  Blocks::Get().Of(spread).before = word & kCountMask;
  // acq_rel: as Get and Put; and who sees the word sees the block.
  if (word_.compare_exchange_strong(word, spread, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
    return spread;
  }
  Blocks::Get().GiveBack(number);
  return word;
}

bool SpreadingCount::GetSpread() {
  // The section makes the grace period of PutBase wait for what is counted in
  // the shards.
  const RcuReadSection section;
  const uint32_t word = word_.load(std::memory_order_acquire);
  Block& block = Blocks::Get().Of(word);
  if ((word & kExact) == 0) [[likely]] {
    block.shards.Add(1);
    return true;
  }
  int64_t count = block.exact.load(std::memory_order_relaxed);
  while (count != 0) {
    if (block.exact.compare_exchange_weak(count, count + 1,
                                          std::memory_order_acquire,
                                          std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool SpreadingCount::PutSpread() {
  const RcuReadSection section;
  const uint32_t word = word_.load(std::memory_order_acquire);
  Block& block = Blocks::Get().Of(word);
  if ((word & kExact) == 0) [[likely]] {
    block.shards.Add(-1);
    return false;
  }
  // acq_rel: all uses by all holders come before the end of the object.
  return block.exact.fetch_sub(1, std::memory_order_acq_rel) == 1;
}

bool SpreadingCount::PutBase(void* object, void (*end)(void*)) {
  // acquire: who finds the count spread finds the block that another thread
  // made for it.
  uint32_t word = word_.load(std::memory_order_acquire);
  while ((word & kSpread) == 0) {
    // acq_rel: as Put; and where it fails, acquire as above.
    if (word_.compare_exchange_weak(word, (word & ~kBased) - 1,
                                    std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return (word & kCountMask) == 1;
    }
  }
  Block& block = Blocks::Get().Of(word);
  block.object = object;
  block.end = end;
  // release: who counts exactly from now on finds the block as it is.
  word_.store((word & ~kBased) | kExact, std::memory_order_release);
  RcuRetire(&block, [](void* retired) {
    Block& still = *static_cast<Block*>(retired);
    // What is counted in the shards is final. Less the base reference.
    const int64_t change = still.Total() - 1 - kBias;
    // acq_rel: as Put.
    if (still.exact.fetch_add(change, std::memory_order_acq_rel) + change == 0)
      still.end(still.object);
  });
  return false;
}

uint32_t SpreadingCount::Read() const {
  const uint32_t word = word_.load(std::memory_order_acquire);
  if ((word & kSpread) == 0) return word & kCountMask;
  const Block& block = Blocks::Get().Of(word);
  int64_t count = block.Total();
  if ((word & kExact) != 0) {
    const int64_t exact = block.exact.load(std::memory_order_relaxed);
    count = exact < kBias / 2 ? exact : count - 1 + exact - kBias;
  }
  return static_cast<uint32_t>(count);
}

}  // namespace vfsd::sync
