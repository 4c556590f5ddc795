#include "server/sync/spreading_count.h"

#include <array>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "server/base/sharded_counter.h"
#include "server/sync/rcu.h"

namespace vfsd::sync {
namespace {

// Added to the exact count until the shards are in it, so that it cannot reach
// zero before.
constexpr int64_t kBias = int64_t{1} << 40;

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

// The blocks in use, by number. Lives for ever.
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
    absl::MutexLock lock(&mu_);
    if (free_.empty()) return kLimit;
    const uint32_t number = free_.back();
    free_.pop_back();
    blocks_[number] = std::make_unique<Block>();
    return number;
  }
  void GiveBack(uint32_t number) {
    absl::MutexLock lock(&mu_);
    blocks_[number].reset();
    free_.push_back(number);
  }
  // Of a word that is spread: whoever has one may use the block.
  Block& Of(uint32_t word) const { return *blocks_[word & (kLimit - 1)]; }

 private:
  Blocks() {
    for (uint32_t i = kLimit; i-- > 0;) free_.push_back(i);
  }

  absl::Mutex mu_;
  std::vector<uint32_t> free_ ABSL_GUARDED_BY(mu_);
  // An element is changed while no count has its number.
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
  uint32_t word = word_.load(std::memory_order_relaxed);
  while ((word & kSpread) == 0) {
    // acq_rel: as Put.
    if (word_.compare_exchange_weak(word, (word & ~kBased) - 1,
                                    std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
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
