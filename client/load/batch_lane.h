// A batch stream: messages of whole units, pipelined.
//
// The messages are serialised before the load starts (a few different ones,
// taken in turn) and a window of them is kept under way. The server answers in
// order, so the n-th reply belongs to the n-th message. What is timed is a
// message: from the moment it is given to gRPC to the moment its reply is
// there.
#ifndef CLIENT_LOAD_BATCH_LANE_H_
#define CLIENT_LOAD_BATCH_LANE_H_

#include <cstddef>
#include <expected>
#include <memory>
#include <string>

#include "client/load/lane.h"
#include "client/load/unary_lane.h"

namespace vfsload {

struct BatchShape {
  // Most operations a message; a message has as many whole units as fit, and
  // at least one.
  size_t operations = 1000;
  // Messages in flight.
  size_t window = 8;
  // Operations of a kind together, in columns.
  bool columns = false;
};

// The error says that a message would be over a limit of the server.
std::expected<std::unique_ptr<Lane>, std::string> MakeBatchLane(
    const LaneContext& context, SlotUnits units, const BatchShape& shape);

}  // namespace vfsload

#endif  // CLIENT_LOAD_BATCH_LANE_H_
