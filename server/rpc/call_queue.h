// CallQueue: one completion queue with its thread, the calls that wait on it,
// and the Worker that runs them.
//
// Start to Stop: all calls live on the queue's own thread; other threads reach
// it through alarms only.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>

#include <memory>
#include <thread>
#include <vector>

#include "server/base/call_statistics.h"
#include "server/rpc/batch_stream.h"
#include "server/rpc/raw_service.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/worker.h"

namespace vfsd::rpc {

// Where each method's counts are: a service's first method in CallStatistics.
struct PostedService {
  RawService* service;
  size_t first_statistics_index;
};

class CallQueue final : public BatchStream::Owner {
 public:
  CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue,
            Backend& backend, std::chrono::nanoseconds slow_threshold);
  // REQUIRES: stopped, if it was started.
  ~CallQueue();

  // Posts `calls_per_method` calls for every method, and serves them.
  void Start(const std::vector<PostedService>& services,
             CallStatistics& statistics, int calls_per_method);
  // Ends streams; other calls go on.
  void Drain();
  // Ends the thread. REQUIRES: the server has shut down.
  void Stop();

 private:
  void StreamBegan(BatchStream& stream) override;
  void StreamEnded(BatchStream& stream) override;

  void Serve();
  void OnDrain(bool ok);
  void OnStop(bool ok);

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  Worker worker_;
  SlowLog slow_log_;
  std::vector<std::unique_ptr<UnaryCall>> unary_calls_;
  std::vector<std::unique_ptr<BatchStream>> streams_;
  // Of streams_: those that wait for nothing.
  std::vector<BatchStream*> spare_streams_;
  // Makes one more of the streams' kind.
  std::function<std::unique_ptr<BatchStream>()> make_stream_;
  grpc::Alarm drain_alarm_;
  grpc::Alarm stop_alarm_;
  MemberTag<CallQueue> drain_tag_{this, &CallQueue::OnDrain};
  MemberTag<CallQueue> stop_tag_{this, &CallQueue::OnStop};
  std::thread thread_;
  bool stopped_ = false;
};

}  // namespace vfsd::rpc
