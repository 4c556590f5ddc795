// What a run is doing, for /metrics and the live line: its recorders and the
// phase it is in.
//
// Owned by the run. Recorders are made at the start and live to its end; the
// rest is guarded by a mutex that no worker takes. Thread-safe.
#ifndef CLIENT_LOAD_RUN_STATUS_H_
#define CLIENT_LOAD_RUN_STATUS_H_

#include <absl/base/thread_annotations.h>
#include <absl/synchronization/mutex.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/load/recorder.h"

namespace vfsload {

enum class Stage { kWarmup, kMeasure, kCooldown, kDone };
inline constexpr size_t kStages = 4;
std::string_view StageName(Stage stage);

class RunStatus {
 public:
  struct Description {
    Stage stage = Stage::kWarmup;
    std::string scenario;
    std::string mode;  // "unary", "batch 1000"
    size_t channels = 0;
  };

  // One recorder a worker.
  RunStatus(std::string run_id, size_t workers);

  const std::string& run_id() const { return run_id_; }
  Recorder& recorder(size_t worker) { return *recorders_[worker]; }
  size_t workers() const { return recorders_.size(); }
  // The sum of all recorders.
  Totals Read() const;

  Description description() const;
  void BeginPhase(std::string scenario, std::string mode, size_t channels);
  void SetStage(Stage stage);

 private:
  const std::string run_id_;
  std::vector<std::unique_ptr<Recorder>> recorders_;
  mutable absl::Mutex mutex_;
  Description description_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_RUN_STATUS_H_
