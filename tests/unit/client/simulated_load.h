// A load in simulated time: the pacer, the unit clock and the recorder of the
// real client, with slots and a server that cost no time but what the test
// says.
//
// The server has one line and serves in order; a call that arrives at t is
// answered `service_time` after it is begun, and nothing is begun during a
// stall. Everything is exact, to the nanosecond. One thread.
#ifndef TESTS_UNIT_CLIENT_SIMULATED_LOAD_H_
#define TESTS_UNIT_CLIENT_SIMULATED_LOAD_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <queue>
#include <vector>

#include "client/load/pacer.h"
#include "client/load/unit_clock.h"

namespace vfsload {

class SimulatedServer {
 public:
  using Nanoseconds = std::chrono::nanoseconds;

  // Stalls for the first `stall` of every `period`, but for the first period.
  SimulatedServer(Nanoseconds service_time, Nanoseconds period,
                  Nanoseconds stall)
      : service_time_(service_time), period_(period), stall_(stall) {}

  // When a call that arrives then is answered. Calls come in order of arrival.
  Nanoseconds Answer(Nanoseconds arrival) {
    Nanoseconds begin = std::max(arrival, free_);
    const Nanoseconds into = begin % period_;
    if (begin >= period_ && into < stall_) begin += stall_ - into;
    free_ = begin + service_time_;
    return free_;
  }

 private:
  Nanoseconds service_time_, period_, stall_;
  Nanoseconds free_{0};
};

class SimulatedLoad {
 public:
  using Time = Pacer::Time;

  SimulatedLoad(Pacer& pacer, Recorder& recorder, SimulatedServer server,
                size_t slots, size_t steps)
      : pacer_(pacer),
        server_(server),
        steps_(steps),
        slots_(slots, Slot{UnitClock(recorder, expected, pacer.open_loop())}) {}

  ExpectedDurations expected;

  // Until `end`; calls under way are answered.
  void Run(std::chrono::nanoseconds end, std::atomic<bool>& stop) {
    pacer_.Start(Time());
    for (size_t i = 0; i < slots_.size(); ++i) parked_.push_back(i);
    WakeParked();
    while (true) {
      const Time limit = Time() + end;
      if (now_ >= limit) stop = true;
      Time next = Time::max();
      if (!events_.empty()) next = events_.top().at;
      if (!stop && !parked_.empty() && pacer_.NextDue()) {
        next = std::min(next, *pacer_.NextDue());
      }
      if (!stop) next = std::min(next, limit);
      if (next == Time::max()) return;
      now_ = next;
      if (now_ >= limit) stop = true;
      while (!events_.empty() && events_.top().at <= now_) {
        const size_t slot = events_.top().slot;
        events_.pop();
        Done(slot);
      }
      WakeParked();
    }
  }

 private:
  struct Slot {
    UnitClock clock;
    size_t left = 0;
  };
  struct Event {
    Time at;
    size_t slot;
    bool operator>(const Event& other) const { return at > other.at; }
  };

  bool Begin(size_t slot) {
    const Pacer::Grant grant = pacer_.Take(1, steps_, now_);
    if (grant.units == 0) return false;
    slots_[slot].left = steps_;
    slots_[slot].clock.Begin(grant.intended);
    Send(slot);
    return true;
  }
  void Send(size_t slot) {
    slots_[slot].clock.Sent(now_);
    events_.push({Time() + server_.Answer(now_.time_since_epoch()), slot});
  }
  void Done(size_t slot) {
    slots_[slot].clock.Done(UnaryMethod(Operation::kStat), now_);
    if (--slots_[slot].left > 0) return Send(slot);
    if (!Begin(slot)) parked_.push_back(slot);
  }
  void WakeParked() {
    while (!parked_.empty() && Begin(parked_.back())) parked_.pop_back();
  }

  Pacer& pacer_;
  SimulatedServer server_;
  const size_t steps_;
  std::vector<Slot> slots_;
  std::vector<size_t> parked_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Time now_;
};

}  // namespace vfsload

#endif  // TESTS_UNIT_CLIENT_SIMULATED_LOAD_H_
