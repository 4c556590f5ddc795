#include "server/metrics/call_metrics.h"

#include <array>
#include <string>

#include "server/metrics/metric_families.h"

namespace vfsd::metrics {
namespace {

// As Go's codes.Code prints them, which dashboards expect.
constexpr std::array<const char*, CallStatistics::kCodeCount> kCodeNames = {
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated"};

Labels LabelsOf(const CallMethod& method) {
  return {{"grpc_type", method.streaming ? "bidi_stream" : "unary"},
          {"grpc_service", method.service},
          {"grpc_method", method.name}};
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectCallMetrics(
    const CallStatistics& calls) {
  Family started = Counter("grpc_server_started_total", "Calls that began.");
  Family handled =
      Counter("grpc_server_handled_total", "Calls that ended, by status code.");
  Family handling = Histogram(
      "grpc_server_handling_seconds",
      "Time from a call's arrival to its answer (of a stream: its life).");
  Family received = Counter("grpc_server_msg_received_total",
                            "Messages received on streams.");
  Family sent =
      Counter("grpc_server_msg_sent_total", "Messages sent on streams.");
  Family in_flight =
      Gauge("vfsd_inflight_requests", "Calls that have begun and not ended.");
  for (size_t i = 0; i < calls.methods().size(); ++i) {
    const CallMethod& method = calls.methods()[i];
    const CallStatistics::Totals totals = calls.Read(i);
    const Labels labels = LabelsOf(method);
    started.Add(labels, static_cast<double>(totals.started));
    for (size_t code = 0; code < kCodeNames.size(); ++code) {
      Labels with_code = labels;
      with_code.push_back({"grpc_code", kCodeNames[code]});
      handled.Add(std::move(with_code),
                  static_cast<double>(totals.handled[code]));
    }
    handling.AddHistogram(labels, CallStatistics::kBucketBounds, totals.buckets,
                          totals.sum_nanoseconds);
    in_flight.Add({{"grpc_method", method.name}},
                  static_cast<double>(totals.in_flight()));
    if (!method.streaming) continue;
    received.Add(labels, static_cast<double>(totals.received));
    sent.Add(labels, static_cast<double>(totals.sent));
  }
  std::vector<prometheus::MetricFamily> families;
  for (Family* family :
       {&started, &handled, &handling, &received, &sent, &in_flight}) {
    families.push_back(family->Take());
  }
  return families;
}

}  // namespace vfsd::metrics
