// Reading the server's own metrics: its CPU time before and after a phase, so
// that a table can say what an operation costs the server.
//
// One HTTP request a reading, blocking, with a time limit. Free functions.
#ifndef CLIENT_LOAD_SERVER_METRICS_H_
#define CLIENT_LOAD_SERVER_METRICS_H_

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "client/lib/address.h"

namespace vfsload {

// The body of GET /metrics. The error is for people.
std::expected<std::string, std::string> FetchMetrics(
    const vfsclient::Address& address);

// The value of the first sample of `name` that has no labels, in the text
// format of Prometheus.
std::optional<double> FindSample(std::string_view text, std::string_view name);

// process_cpu_seconds_total of the server.
std::expected<double, std::string> FetchServerCpuSeconds(
    const vfsclient::Address& address);

}  // namespace vfsload

#endif  // CLIENT_LOAD_SERVER_METRICS_H_
