#include "tests/bench/wire/setting.h"

#include <malloc.h>
#include <sched.h>

#include "tests/bench/wire/process.h"

namespace wirebench {

void TuneAllocator() {
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
}

void TakeTwoProcessors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  cpu_set_t two;
  CPU_ZERO(&two);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&two) < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &two);
  }
  if (CPU_COUNT(&two) < 2) Die("needs two processors");
  sched_setaffinity(0, sizeof(two), &two);
}

}  // namespace wirebench
