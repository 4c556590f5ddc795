#include "tests/unit/fs/allocations.h"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

constinit thread_local int64_t allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace vfsd::testing {

int64_t Allocations() { return allocations; }

}  // namespace vfsd::testing
