// Slice: what one contender did in its turn.
#pragma once

#include <chrono>
#include <cstdint>

namespace wirebench {

struct Slice {
  uint64_t operations = 0;
  int64_t wall = 0;    // nanoseconds
  int64_t server = 0;  // CPU nanoseconds
  int64_t client = 0;

  double ServerCost() const { return Per(server); }
  double ClientCost() const { return Per(client); }
  double Cost() const { return Per(server + client); }
  double Rate() const {
    return 1e9 * static_cast<double>(operations) / static_cast<double>(wall);
  }

 private:
  double Per(int64_t nanoseconds) const {
    return static_cast<double>(nanoseconds) / static_cast<double>(operations);
  }
};

}  // namespace wirebench
