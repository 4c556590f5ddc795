#include "client/load/arrival_plan.h"

#include <utility>

namespace vfsload {

ArrivalPlan::ArrivalPlan(RateProfile profile, Arrivals arrivals, size_t index,
                         size_t shares, uint64_t seed, double begin)
    : profile_(std::move(profile)),
      arrivals_(arrivals),
      shares_(static_cast<double>(shares)),
      random_(seed * 0x9e3779b97f4a7c15 + index),
      position_(profile_.CountAt(begin)) {
  // Shares take turns where starts are evenly spaced.
  if (arrivals_ == Arrivals::kConstant) {
    position_ += static_cast<double>(index);
    Place();
  } else {
    Advance(1);
  }
}

void ArrivalPlan::Advance(uint64_t operations) {
  double step = static_cast<double>(operations) * shares_;
  // A Poisson process whose rate varies is one of rate 1, run by the profile's
  // own count instead of time.
  if (arrivals_ == Arrivals::kPoisson) {
    step *= std::exponential_distribution<double>(1)(random_);
  }
  position_ += step;
  Place();
}

void ArrivalPlan::Place() {
  next_ = std::chrono::nanoseconds(
      static_cast<int64_t>(profile_.TimeOf(position_) * 1e9));
}

}  // namespace vfsload
