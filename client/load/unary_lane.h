// Unary calls: a number of slots, each with one call in flight.
//
// A slot sends the steps of a unit one after the other, each when the answer to
// the one before is there. A step that needs the file of an open that failed is
// left out (the failure itself was counted).
#ifndef CLIENT_LOAD_UNARY_LANE_H_
#define CLIENT_LOAD_UNARY_LANE_H_

#include <memory>
#include <vector>

#include "client/load/lane.h"
#include "client/load/unit.h"

namespace vfsload {

// The units of one slot and the seed of their order.
struct SlotUnits {
  std::vector<Unit> units;
  uint64_t seed = 0;
};

// One slot for each element.
std::unique_ptr<Lane> MakeUnaryLane(const LaneContext& context,
                                    std::vector<SlotUnits> slots);

}  // namespace vfsload

#endif  // CLIENT_LOAD_UNARY_LANE_H_
