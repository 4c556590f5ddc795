#include "client/load/recorder.h"

#include <numeric>

namespace vfsload {

void Totals::Subtract(const Totals& earlier) {
  for (size_t i = 0; i < kOperations; ++i) {
    for (size_t k = 0; k < kResults; ++k)
      results[i][k] -= earlier.results[i][k];
  }
  wrong -= earlier.wrong;
  for (size_t i = 0; i < kMethods; ++i) {
    started[i] -= earlier.started[i];
    for (size_t k = 0; k < kCodes; ++k) handled[i][k] -= earlier.handled[i][k];
    latency[i].Subtract(earlier.latency[i]);
    latency_sum_ns[i] -= earlier.latency_sum_ns[i];
    response[i].Subtract(earlier.response[i]);
    response_sum_ns[i] -= earlier.response_sum_ns[i];
  }
  for (size_t k = 0; k < kCodes; ++k) failed[k] -= earlier.failed[k];
  lag.Subtract(earlier.lag);
  lag_sum_ns -= earlier.lag_sum_ns;
  scheduled -= earlier.scheduled;
  late -= earlier.late;
  for (size_t i = 0; i < kDrops; ++i) dropped[i] -= earlier.dropped[i];
  messages_sent -= earlier.messages_sent;
  messages_received -= earlier.messages_received;
}

uint64_t Totals::Operations() const {
  uint64_t sum = 0;
  for (size_t i = 0; i < kOperations; ++i) {
    sum += Operations(static_cast<Operation>(i));
  }
  return sum;
}

uint64_t Totals::Operations(Operation operation) const {
  const auto& row = results[Index(operation)];
  return std::accumulate(row.begin(), row.end(), uint64_t{0});
}

uint64_t Totals::InFlight() const {
  uint64_t in_flight = messages_sent - messages_received;
  for (size_t i = 0; i < kOperations; ++i) {
    in_flight += started[i] - std::accumulate(handled[i].begin(),
                                              handled[i].end(), uint64_t{0});
  }
  // The parts were not read at one instant; a difference below zero is none.
  return static_cast<int64_t>(in_flight) < 0 ? 0 : in_flight;
}

LatencyHistogram Totals::Latency() const {
  LatencyHistogram sum;
  for (const LatencyHistogram& histogram : latency) sum.Merge(histogram);
  return sum;
}

LatencyHistogram Totals::Response() const {
  LatencyHistogram sum;
  for (const LatencyHistogram& histogram : response) sum.Merge(histogram);
  return sum;
}

void Recorder::AddTo(Totals* sum) const {
  for (size_t i = 0; i < kOperations; ++i) {
    for (size_t k = 0; k < kResults; ++k) {
      sum->results[i][k] += results_[i][k].Read();
    }
  }
  sum->wrong += wrong_.Read();
  for (size_t i = 0; i < kMethods; ++i) {
    for (size_t k = 0; k < kCodes; ++k) {
      sum->handled[i][k] += handled_[i][k].Read();
    }
    sum->started[i] += started_[i].Read();
    const uint64_t sum_ns = latency_sum_ns_[i].Read();
    sum->latency_sum_ns[i] += sum_ns;
    // Most methods are not used by a run; their buckets need no reading.
    if (sum_ns != 0) latency_[i].AddTo(&sum->latency[i]);
    const uint64_t response_ns = response_sum_ns_[i].Read();
    sum->response_sum_ns[i] += response_ns;
    if (response_ns != 0) response_[i].AddTo(&sum->response[i]);
  }
  for (size_t k = 0; k < kCodes; ++k) sum->failed[k] += failed_[k].Read();
  const uint64_t scheduled = scheduled_.Read();
  sum->scheduled += scheduled;
  if (scheduled != 0) {
    lag_.AddTo(&sum->lag);
    sum->lag_sum_ns += lag_sum_ns_.Read();
    sum->late += late_.Read();
    for (size_t i = 0; i < kDrops; ++i) sum->dropped[i] += dropped_[i].Read();
  }
  // Received first: what is sent in between must not make the difference
  // negative.
  sum->messages_received += received_.Read();
  sum->messages_sent += sent_.Read();
}

}  // namespace vfsload
