// A concurrent history and the search for an order that explains it, as Wing
// and Gong described ("Testing and verifying concurrent objects", 1993), with
// the memory of failed positions that Lowe added.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/stress/namespace_model.h"

namespace vfsd::stress {

// A step and when it was: between two values of one clock that all threads
// read. It took effect somewhere in between.
struct Event {
  Step step;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Each thread's events, in their order.
using History = std::vector<std::vector<Event>>;

// Whether some order of all events, which keeps each thread's order and lets
// what was over come before what had not begun, gives these answers.
bool IsLinearizable(const History& history, const NamespaceModel& initial);

// A line an event, by beginning.
std::string Describe(const History& history);

}  // namespace vfsd::stress
