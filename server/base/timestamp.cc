#include "server/base/timestamp.h"

#include <ctime>

namespace vfsd {

Timestamp Timestamp::Now() {
  timespec now;
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  return Timestamp(now.tv_sec, static_cast<uint32_t>(now.tv_nsec));
}

}  // namespace vfsd
