// A point in real time as inodes keep it: 64 bits, nanosecond resolution.
//
// Seconds take 34 bits and nanoseconds 30, which covers 1698 to 2242 around the
// epoch; what lies outside (a file imported with such a time) is clamped to the
// nearest end, so that earlier never becomes later.
#pragma once

#include <algorithm>
#include <cstdint>

namespace vfsd {

class Timestamp {
 public:
  static constexpr int64_t kMaxSeconds = (int64_t{1} << 33) - 1;
  static constexpr int64_t kMinSeconds = -(int64_t{1} << 33);

  static constexpr uint32_t kMaxNanoseconds = 999'999'999;

  constexpr Timestamp() = default;
  // nanoseconds: 0 to 999,999,999.
  constexpr Timestamp(int64_t seconds, uint32_t nanoseconds)
      : packed_(
            static_cast<uint64_t>(std::clamp(seconds, kMinSeconds, kMaxSeconds))
                << 30 |
            (seconds < kMinSeconds   ? 0
             : seconds > kMaxSeconds ? kMaxNanoseconds
                                     : nanoseconds)) {}

  static constexpr Timestamp FromPacked(uint64_t packed) {
    Timestamp result;
    result.packed_ = packed;
    return result;
  }

  // The coarse real-time clock (CLOCK_REALTIME_COARSE), which is what the
  // kernel stamps inodes with.
  static Timestamp Now();

  constexpr int64_t seconds() const {
    return static_cast<int64_t>(packed_) >> 30;
  }
  constexpr uint32_t nanoseconds() const {
    return static_cast<uint32_t>(packed_ & ((uint64_t{1} << 30) - 1));
  }
  constexpr uint64_t packed() const { return packed_; }

  // Earlier to later: the packing keeps the order.
  friend constexpr bool operator==(Timestamp a, Timestamp b) = default;
  friend constexpr auto operator<=>(Timestamp a, Timestamp b) {
    return static_cast<int64_t>(a.packed_) <=> static_cast<int64_t>(b.packed_);
  }

 private:
  uint64_t packed_ = 0;
};

}  // namespace vfsd
