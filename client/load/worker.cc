#include "client/load/worker.h"

#include <chrono>
#include <utility>

namespace vfsload {
namespace {

// How often a worker that gets no answers looks whether to give up.
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

Worker::Worker(Recorder& recorder, RunState& state,
               std::unique_ptr<Pacer> pacer, const ExpectedDurations& expected)
    : recorder_(recorder),
      state_(state),
      pacer_(std::move(pacer)),
      expected_(expected) {}

Worker::~Worker() {
  metronome_.reset();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

LaneContext Worker::ContextFor(Connection& connection) {
  return {connection, queue_, *pacer_, recorder_, check_, state_, expected_};
}

bool Worker::Idle() const {
  for (const auto& lane : lanes_) {
    if (!lane->Idle()) return false;
  }
  return true;
}

void Worker::WakeLanes() {
  const bool stop = state_.stop().load(std::memory_order_relaxed);
  // Lanes take turns; a round in which none has a place free is the last.
  for (size_t refused = 0; refused < lanes_.size();) {
    if (!stop && *pacer_->NextDue() > std::chrono::steady_clock::now()) break;
    Lane& lane = *lanes_[next_lane_];
    if (++next_lane_ == lanes_.size()) next_lane_ = 0;
    refused = lane.Wake() ? 0 : refused + 1;
  }
  // What is overdue waits for a place, and places ask for themselves.
  if (!stop && *pacer_->NextDue() > std::chrono::steady_clock::now()) {
    metronome_->Arm(*pacer_->NextDue());
  }
}

void Worker::Run() {
  pacer_->Start(std::chrono::steady_clock::now());
  const bool open_loop = pacer_->open_loop();
  if (open_loop) metronome_ = std::make_unique<Metronome>(queue_);
  for (const auto& lane : lanes_) lane->Start();
  bool cancelled = false;
  // Only a completion that comes after the stop can be the last one; so the
  // lanes need not be asked while the load runs.
  auto deadline = std::chrono::system_clock::now() + kLook;
  bool ask = true;
  while (!ask || !Idle()) {
    void* tag = nullptr;
    bool ok = false;
    switch (queue_.AsyncNext(&tag, &ok, deadline)) {
      case grpc::CompletionQueue::GOT_EVENT:
        static_cast<CompletionTag*>(tag)->OnCompletion(ok);
        ask = state_.stop().load(std::memory_order_relaxed) ||
              pacer_->Exhausted();
        if (open_loop) WakeLanes();
        break;
      case grpc::CompletionQueue::TIMEOUT:
        deadline = std::chrono::system_clock::now() + kLook;
        ask = true;
        if (open_loop) WakeLanes();
        if (state_.abandoned() && !cancelled) {
          cancelled = true;
          for (const auto& lane : lanes_) lane->Cancel();
        }
        break;
      case grpc::CompletionQueue::SHUTDOWN:
        return;
    }
  }
}

}  // namespace vfsload
