#include "client/load/run_status.h"

#include <utility>

namespace vfsload {

std::string_view StageName(Stage stage) {
  switch (stage) {
    case Stage::kWarmup:
      return "warmup";
    case Stage::kMeasure:
      return "measure";
    case Stage::kCooldown:
      return "cooldown";
    case Stage::kDone:
      return "done";
  }
  return "done";
}

RunStatus::RunStatus(std::string run_id, size_t workers)
    : run_id_(std::move(run_id)) {
  for (size_t i = 0; i < workers; ++i) {
    recorders_.push_back(std::make_unique<Recorder>());
  }
}

Totals RunStatus::Read() const {
  Totals sum;
  for (const auto& recorder : recorders_) recorder->AddTo(&sum);
  return sum;
}

RunStatus::Description RunStatus::description() const {
  absl::MutexLock lock(&mutex_);
  return description_;
}

void RunStatus::BeginPhase(std::string scenario, std::string mode,
                           size_t channels) {
  absl::MutexLock lock(&mutex_);
  description_ = {Stage::kWarmup, std::move(scenario), std::move(mode),
                  channels};
}

void RunStatus::SetStage(Stage stage) {
  absl::MutexLock lock(&mutex_);
  description_.stage = stage;
  if (stage == Stage::kDone) description_.channels = 0;
}

}  // namespace vfsload
