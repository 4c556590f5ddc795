// When a slot may start its next unit.
//
// A pacer belongs to one worker and is asked before every unit. The closed loop
// lets a slot start as soon as its previous unit is done. The open loop lets it
// start when the plan says so, at the intended moment or, when every slot was
// busy then, as soon as one is free; the intended moment goes with the grant.
// Time comes in as an argument, so that a test can simulate it. Asked from the
// worker's thread only; the stop flag may be set from any.
#ifndef CLIENT_LOAD_PACER_H_
#define CLIENT_LOAD_PACER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "client/load/arrival_plan.h"
#include "client/load/recorder.h"

namespace vfsload {

class Pacer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Grant {
    // How many of the wanted units may start now.
    uint64_t units = 0;
    // With no units: there will be none any more.
    bool over = false;
    // When they were meant to start.
    Time intended;
  };

  virtual ~Pacer() = default;
  // The load starts; called once, before Take.
  virtual void Start(Time /*now*/) {}
  // Asks for `units` that together have `operations`.
  virtual Grant Take(uint64_t units, uint64_t operations, Time now) = 0;
  // A counted load has started its last unit.
  virtual bool Exhausted() const { return false; }
  // When a slot that got nothing should ask again; none: it need not.
  virtual std::optional<Time> NextDue() const { return std::nullopt; }
  bool open_loop() const { return NextDue().has_value(); }
};

class ClosedLoopPacer final : public Pacer {
 public:
  // Until `stop`, or until `count` units have started.
  ClosedLoopPacer(const std::atomic<bool>& stop, std::optional<uint64_t> count)
      : stop_(stop), left_(count) {}

  Grant Take(uint64_t units, uint64_t operations, Time now) override;
  bool Exhausted() const override { return left_ && *left_ == 0; }

 private:
  const std::atomic<bool>& stop_;
  std::optional<uint64_t> left_;
};

class OpenLoopPacer final : public Pacer {
 public:
  // Units that would start more than `max_late` after their time are dropped,
  // if that is set. The plan's time 0 is `warmup` after Start.
  OpenLoopPacer(const std::atomic<bool>& stop, ArrivalPlan plan,
                Recorder& recorder, std::chrono::nanoseconds warmup,
                std::optional<std::chrono::nanoseconds> max_late)
      : stop_(stop),
        plan_(std::move(plan)),
        recorder_(recorder),
        warmup_(warmup),
        max_late_(max_late) {}

  void Start(Time now) override { origin_ = now + warmup_; }
  Grant Take(uint64_t units, uint64_t operations, Time now) override;
  std::optional<Time> NextDue() const override {
    return origin_ + plan_.Next();
  }

 private:
  // What was due and never started, once.
  void DropRest(uint64_t operations, Time now);

  const std::atomic<bool>& stop_;
  ArrivalPlan plan_;
  Recorder& recorder_;
  const std::chrono::nanoseconds warmup_;
  const std::optional<std::chrono::nanoseconds> max_late_;
  Time origin_;
  bool over_ = false;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_PACER_H_
