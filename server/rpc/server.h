// Server: vfs.v1 on the network: listens, serves the calls of all queues, tells
// its health, drains and shuts down.
//
// Thread safety: Start and Shutdown by one thread; BeginDrain by any.
#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "server/base/call_statistics.h"
#include "server/base/listen_address.h"
#include "server/rpc/backend.h"
#include "server/rpc/call_queue.h"
#include "server/rpc/raw_service.h"

namespace vfsd::rpc {

struct ServerOptions {
  // Not empty.
  std::vector<ListenAddress> listen;
  // Completion queues, each with a thread; 0: half the CPUs that the process
  // may use (the other half is gRPC's clients', or the kernel's).
  int queues = 0;
  // Of each unary method and queue: places that wait for a call. A call that
  // finds none waits itself, a moment.
  int calls_per_method = 4;
  bool admin_service = true;
  // Warn of calls and batches that took longer; 0: never.
  std::chrono::nanoseconds slow_threshold{0};
};

class Server {
 public:
  // backend outlives the server. The error is a sentence for the command line.
  static std::expected<std::unique_ptr<Server>, std::string> Start(
      const ServerOptions& options, Backend& backend);
  ~Server();

  // Where it listens, with real ports.
  const std::vector<std::string>& addresses() const { return addresses_; }
  const CallStatistics& statistics() const { return *statistics_; }
  int queues() const { return static_cast<int>(queues_.size()); }

  // Health says NOT_SERVING, OpenSession says DRAINING, streams end after the
  // message that they are at. Calls under way, and calls of open sessions, are
  // served on.
  void BeginDrain();
  // BeginDrain; waits until no call is under way, at most to the deadline; then
  // answers what still comes with DRAINING for a moment, so that busy clients
  // learn why, and closes the connections.
  void Shutdown(std::chrono::system_clock::time_point deadline);

 private:
  explicit Server(Backend& backend) : backend_(backend) {}

  // Waits until no call has been under way for `quiet`, at most to the
  // deadline.
  void WaitForQuiet(std::chrono::milliseconds quiet,
                    std::chrono::system_clock::time_point deadline) const;

  Backend& backend_;
  // Those of vfs.v1, then the standard ones: health and reflection.
  std::vector<std::unique_ptr<RawService>> services_;
  ServiceNames service_names_;
  std::unique_ptr<CallStatistics> statistics_;
  // Of the standard services: probes and tools are nobody's load, and a watch
  // of health must not keep a drain waiting.
  std::unique_ptr<CallStatistics> standard_statistics_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<std::unique_ptr<CallQueue>> queues_;
  std::vector<std::string> addresses_;
  bool shut_down_ = false;
};

}  // namespace vfsd::rpc
