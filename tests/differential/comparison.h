// What the kernel and another runner answered, side by side.
//
// Numbers that each side makes up for itself (inodes, devices, mounts) are
// compared as relations: what is one on one side is one on the other. Times are
// compared where the program gives each step a clock tick of its own, by the
// step that stamped them; else only for being times of the program's.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "tests/differential/clock_ticks.h"
#include "tests/differential/runner.h"

namespace vfsd::differential {

// A one-to-one relation, learnt as it is met.
template <typename Key>
class Bijection {
 public:
  // False: contradicts what was learnt.
  bool Match(const Key& left, const Key& right) {
    const auto [forward, new_left] = forward_.try_emplace(left, right);
    const auto [backward, new_right] = backward_.try_emplace(right, left);
    return forward->second == right && backward->second == left;
  }

 private:
  std::map<Key, Key> forward_;
  std::map<Key, Key> backward_;
};

// Of one program on one pair of runners.
class Comparison {
 public:
  // ticks: null where times are not compared.
  Comparison(Oracle oracle, const ClockTicks* ticks)
      : oracle_(oracle), ticks_(ticks) {}

  // Empty, or what differs.
  std::string Compare(const Step& step, const Outcome& kernel,
                      const Outcome& other);
  std::string Compare(const Listing& kernel, const Listing& other);

 private:
  // The numbers of file systems and mounts that are gone are given out again.
  void Forget();
  std::string CompareStatx(const vfs::Statx& kernel, const vfs::Statx& other);
  std::string CompareEntries(const Outcome& kernel, const Outcome& other);

  const Oracle oracle_;
  const ClockTicks* const ticks_;
  using Device = std::pair<uint32_t, uint32_t>;
  Bijection<Device> devices_;
  Bijection<std::tuple<uint32_t, uint32_t, uint64_t>> inodes_;
  // Of readdir, which tells no device.
  Bijection<uint64_t> entry_inodes_;
  Bijection<uint64_t> mounts_;
  Bijection<uint64_t> unique_mounts_;
};

}  // namespace vfsd::differential
