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
#include "server/rpc/call_places.h"
#include "server/rpc/health_watch.h"
#include "server/rpc/message_stream.h"
#include "server/rpc/raw_service.h"
#include "server/rpc/unary_call.h"
#include "server/rpc/worker.h"

namespace vfsd::rpc {

// Where each method's counts are: a service's first method in a CallStatistics.
struct PostedService {
  RawService* service;
  CallStatistics* statistics;
  size_t first_statistics_index;
};

class CallQueue {
 public:
  CallQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue,
            Backend& backend, const ServiceNames& services,
            std::chrono::nanoseconds slow_threshold);
  // REQUIRES: stopped, if it was started.
  ~CallQueue();

  // Posts places for calls of every method (`calls_per_method` of each unary
  // one), and serves them.
  void Start(const std::vector<PostedService>& services, int calls_per_method);
  // Ends streams of messages and tells the watchers of health; other calls go
  // on.
  void Drain();
  // Ends the watches of health too.
  void EndWatches();
  // Ends the thread. REQUIRES: the server has shut down.
  void Stop();

 private:
  void PostUnary(const PostedService& posted, int index, int calls);
  void PostStream(const PostedService& posted, int index);
  void PostWatch(const PostedService& posted, int index);
  CallRecord RecordOf(const PostedService& posted, int index) const;

  void Serve();
  void OnDrain(bool ok);
  void OnEndWatches(bool ok);
  void OnStop(bool ok);

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  Worker worker_;
  SlowLog slow_log_;
  std::vector<std::unique_ptr<CallPlaces<UnaryCall>>> unary_calls_;
  std::vector<std::unique_ptr<CallPlaces<MessageStream>>> streams_;
  std::vector<std::unique_ptr<CallPlaces<HealthWatch>>> watches_;
  grpc::Alarm drain_alarm_;
  grpc::Alarm end_watches_alarm_;
  grpc::Alarm stop_alarm_;
  MemberTag<CallQueue> drain_tag_{this, &CallQueue::OnDrain};
  MemberTag<CallQueue> end_watches_tag_{this, &CallQueue::OnEndWatches};
  MemberTag<CallQueue> stop_tag_{this, &CallQueue::OnStop};
  std::thread thread_;
  bool stopping_ = false;  // the queue's own thread's
  bool stopped_ = false;
};

}  // namespace vfsd::rpc
