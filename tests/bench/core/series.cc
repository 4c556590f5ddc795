#include "tests/bench/core/series.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace corebench {

Interval Series::Summary() const {
  assert(!values_.empty());
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const size_t size = sorted.size();
  const double median = size % 2 == 1
                            ? sorted[size / 2]
                            : (sorted[size / 2 - 1] + sorted[size / 2]) / 2;
  // The ranks between which the median of the population lies with 95 %: the
  // normal approximation of the binomial distribution.
  const double half_width = 1.96 * std::sqrt(static_cast<double>(size)) / 2;
  const double middle = static_cast<double>(size) / 2;
  const auto low = static_cast<size_t>(std::max(0.0, middle - half_width));
  const auto high = std::min(
      size - 1, static_cast<size_t>(std::ceil(middle + half_width)) - 1);
  return {median, sorted[low], sorted[high]};
}

Series Quotient(const Series& over, const Series& under, double factor) {
  assert(over.values().size() == under.values().size());
  Series result;
  for (size_t i = 0; i < over.values().size(); ++i) {
    result.Add(factor * over.values()[i] / under.values()[i]);
  }
  return result;
}

Series Difference(const Series& a, const Series& b, double factor) {
  assert(a.values().size() == b.values().size());
  Series result;
  for (size_t i = 0; i < a.values().size(); ++i) {
    result.Add(a.values()[i] - factor * b.values()[i]);
  }
  return result;
}

}  // namespace corebench
