// When the units of an open loop are meant to start: one worker's share of a
// rate profile, evenly spaced or as a Poisson process.
//
// The next intended start follows from the plan alone, never from when
// something was sent or answered: so a stall of the server shows in the
// response times of all that should have started during it. Times count from
// the start of the profile. Owned by one worker's pacer; one thread.
#ifndef CLIENT_LOAD_ARRIVAL_PLAN_H_
#define CLIENT_LOAD_ARRIVAL_PLAN_H_

#include <chrono>
#include <cstdint>
#include <random>

#include "client/load/rate_profile.h"

namespace vfsload {

enum class Arrivals { kConstant, kPoisson };

class ArrivalPlan {
 public:
  // The `index`-th of `shares` equal parts of `profile`, from `begin` seconds
  // on (negative: a warm-up before the profile).
  ArrivalPlan(RateProfile profile, Arrivals arrivals, size_t index,
              size_t shares, uint64_t seed, double begin);

  // The intended start of the next unit.
  std::chrono::nanoseconds Next() const { return next_; }
  // That unit has `operations`; on to the one after it.
  void Advance(uint64_t operations);

 private:
  void Place();

  RateProfile profile_;
  Arrivals arrivals_;
  double shares_;
  std::mt19937_64 random_;
  double position_;  // in operations of the whole profile
  std::chrono::nanoseconds next_{0};
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_ARRIVAL_PLAN_H_
