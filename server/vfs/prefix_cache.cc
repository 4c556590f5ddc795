#include "server/vfs/prefix_cache.h"

#include <cstring>
#include <memory>

namespace vfsd::vfs {

constinit thread_local PrefixCache* PrefixCache::own_ = nullptr;

PrefixCache& PrefixCache::Make() {
  // The pointer beside it, since what has a destructor costs a call to reach.
  struct Owner {
    std::unique_ptr<PrefixCache> cache = std::make_unique<PrefixCache>();
    ~Owner() { own_ = nullptr; }
  };
  thread_local Owner owner;
  // A thread that ends walks in the destructors of its other objects.
  if (owner.cache == nullptr) owner.cache = std::make_unique<PrefixCache>();
  own_ = owner.cache.get();
  return *own_;
}

void PrefixCache::Remember(uint64_t generation, const PathView& start,
                           std::string_view prefix, const PathView& end) {
  Entry& entry = entries_[IndexFor(start, prefix)];
  entry.generation = generation;
  entry.start = start;
  entry.end = end;
  entry.length = prefix.size();
  std::memcpy(entry.bytes, prefix.data(), prefix.size());
}

}  // namespace vfsd::vfs
