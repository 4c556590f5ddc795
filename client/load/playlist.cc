#include "client/load/playlist.h"

#include <algorithm>
#include <random>

namespace vfsload {

Playlist::Playlist(const std::vector<Unit>& units, size_t length,
                   uint64_t seed) {
  std::mt19937_64 random(seed);
  const bool equal = std::ranges::all_of(units, [&](const Unit& unit) {
    return unit.weight == units.front().weight;
  });
  if (equal) {
    for (const Unit& unit : units) order_.push_back(&unit);
    std::ranges::shuffle(order_, random);
    return;
  }
  std::vector<double> weights;
  for (const Unit& unit : units) weights.push_back(unit.weight);
  std::discrete_distribution<size_t> draw(weights.begin(), weights.end());
  for (size_t i = 0; i < length; ++i) order_.push_back(&units[draw(random)]);
}

}  // namespace vfsload
