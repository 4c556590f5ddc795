// What happened, counted: one Recorder a worker thread, summed when read.
//
// The worker is the only writer of its Recorder (plain relaxed loads and
// stores); any thread may read it at any time. Counts never fall; a phase is
// the difference of two Totals. Recorders live as long as the run, so that the
// counters on /metrics live on between phases.
#ifndef CLIENT_LOAD_RECORDER_H_
#define CLIENT_LOAD_RECORDER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "client/lib/errno_table.h"
#include "client/load/latency_histogram.h"
#include "client/load/operation.h"

namespace vfsload {

// Results of operations: a Linux error number (0: ok); one more place for
// numbers that Linux does not have.
inline constexpr size_t kResults =
    static_cast<size_t>(vfsclient::kErrnoLimit) + 1;
// gRPC's codes (0: OK).
inline constexpr size_t kCodes = 17;

// Why an operation of an open loop was never sent: it would have been too late,
// or the load ended before its turn came.
enum class Drop { kLate, kEnd };
inline constexpr size_t kDrops = 2;
// What started later than this after its time counts as late.
inline constexpr std::chrono::milliseconds kLateFrom{1};

// A counter that one thread writes and others read.
class SingleWriterCounter {
 public:
  void Add(uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n,
                 std::memory_order_relaxed);
  }
  uint64_t Read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// The sum of Recorders at one moment, or the difference of two such sums.
struct Totals {
  std::array<std::array<uint64_t, kResults>, kOperations> results{};
  // Answers that differ from what was expected; they are in `results` too.
  uint64_t wrong = 0;
  std::array<uint64_t, kMethods> started{};
  std::array<std::array<uint64_t, kCodes>, kMethods> handled{};
  // Calls that ended without an answer of the file system, by code.
  std::array<uint64_t, kCodes> failed{};
  uint64_t messages_sent = 0;
  uint64_t messages_received = 0;
  // Service time: of unary calls by method, of the messages of batch streams.
  std::vector<LatencyHistogram> latency =
      std::vector<LatencyHistogram>(kMethods);
  std::array<uint64_t, kMethods> latency_sum_ns{};
  // Of an open loop. Response time: from the intended start to the reply.
  std::vector<LatencyHistogram> response =
      std::vector<LatencyHistogram>(kMethods);
  std::array<uint64_t, kMethods> response_sum_ns{};
  // How long after its time a unit or message was started.
  LatencyHistogram lag;
  uint64_t lag_sum_ns = 0;
  // Operations whose time had come; of them, started late or never.
  uint64_t scheduled = 0;
  uint64_t late = 0;
  std::array<uint64_t, kDrops> dropped{};

  void Subtract(const Totals& earlier);

  uint64_t Operations() const;
  uint64_t Operations(Operation operation) const;
  // Unary calls and messages that have no answer yet. Meaningless in a
  // difference.
  uint64_t InFlight() const;
  // Of all methods.
  LatencyHistogram Latency() const;
  LatencyHistogram Response() const;
  uint64_t Dropped() const { return dropped[0] + dropped[1]; }
};

class alignas(64) Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // The worker only.
  void CountOperations(Operation operation, int errno_number, uint64_t n = 1) {
    const auto result = static_cast<size_t>(errno_number);
    results_[Index(operation)][result < kResults ? result : kResults - 1].Add(
        n);
  }
  void CountWrong(uint64_t n = 1) { wrong_.Add(n); }
  void CountStarted(Method method) { started_[method].Add(1); }
  void CountHandled(Method method, int code) {
    handled_[method][CodeIndex(code)].Add(1);
  }
  // In addition to CountHandled.
  void CountFailed(int code) { failed_[CodeIndex(code)].Add(1); }
  void CountSent() { sent_.Add(1); }
  void CountReceived(uint64_t n = 1) { received_.Add(n); }
  void RecordLatency(Method method, std::chrono::nanoseconds latency) {
    latency_[method].Record(latency);
    latency_sum_ns_[method].Add(static_cast<uint64_t>(latency.count()));
  }
  void RecordResponse(Method method, std::chrono::nanoseconds response) {
    response_[method].Record(response);
    response_sum_ns_[method].Add(static_cast<uint64_t>(response.count()));
  }
  void CountScheduled(uint64_t operations) { scheduled_.Add(operations); }
  void CountDropped(Drop why, uint64_t operations) {
    dropped_[static_cast<size_t>(why)].Add(operations);
  }
  // A unit of an open loop starts, `lag` after its time.
  void RecordStart(std::chrono::nanoseconds lag, uint64_t operations) {
    lag_.Record(lag);
    lag_sum_ns_.Add(static_cast<uint64_t>(lag.count()));
    if (lag > kLateFrom) late_.Add(operations);
  }

  // Any thread.
  void AddTo(Totals* sum) const;

 private:
  // A code that gRPC does not define counts as UNKNOWN.
  static constexpr size_t CodeIndex(int code) {
    const auto index = static_cast<size_t>(code);
    return index < kCodes ? index : 2;
  }

  std::array<std::array<SingleWriterCounter, kResults>, kOperations> results_;
  SingleWriterCounter wrong_;
  std::array<SingleWriterCounter, kMethods> started_;
  std::array<std::array<SingleWriterCounter, kCodes>, kMethods> handled_;
  std::array<SingleWriterCounter, kCodes> failed_;
  SingleWriterCounter sent_;
  SingleWriterCounter received_;
  // 16 KB a method.
  std::array<SharedLatencyHistogram, kMethods> latency_;
  std::array<SingleWriterCounter, kMethods> latency_sum_ns_;
  std::array<SharedLatencyHistogram, kMethods> response_;
  std::array<SingleWriterCounter, kMethods> response_sum_ns_;
  SharedLatencyHistogram lag_;
  SingleWriterCounter lag_sum_ns_;
  SingleWriterCounter scheduled_;
  SingleWriterCounter late_;
  std::array<SingleWriterCounter, kDrops> dropped_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_RECORDER_H_
