#include "client/load/worker.h"

#include <chrono>

namespace vfsload {
namespace {

// How often a worker that gets no answers looks whether to give up.
constexpr std::chrono::milliseconds kLook{100};

}  // namespace

Worker::Worker(Recorder& recorder, RunState& state,
               std::optional<uint64_t> count)
    : recorder_(recorder), state_(state), pacer_(state.stop(), count) {}

Worker::~Worker() {
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

LaneContext Worker::ContextFor(Connection& connection) {
  return {connection, queue_, pacer_, recorder_, check_, state_};
}

bool Worker::Idle() const {
  for (const auto& lane : lanes_) {
    if (!lane->Idle()) return false;
  }
  return true;
}

void Worker::Run() {
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
        ask =
            state_.stop().load(std::memory_order_relaxed) || pacer_.Exhausted();
        break;
      case grpc::CompletionQueue::TIMEOUT:
        deadline = std::chrono::system_clock::now() + kLook;
        ask = true;
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
