// Series: one quantity measured once a slice; its median with an interval that
// assumes nothing about the distribution (order statistics, 95 %).
//
// A plain value.
#pragma once

#include <string>
#include <vector>

namespace corebench {

struct Interval {
  double median = 0;
  double low = 0;
  double high = 0;
};

class Series {
 public:
  Series() = default;
  explicit Series(std::vector<double> values) : values_(std::move(values)) {}

  void Add(double value) { values_.push_back(value); }
  const std::vector<double>& values() const { return values_; }

  // REQUIRES: not empty.
  Interval Summary() const;

 private:
  std::vector<double> values_;
};

// factor * over / under, slice by slice: what is common to a slice (a machine
// that was slower for a moment) cancels.
Series Quotient(const Series& over, const Series& under, double factor = 1);
// a - factor * b, slice by slice.
Series Difference(const Series& a, const Series& b, double factor = 1);

}  // namespace corebench
