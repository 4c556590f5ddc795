#include "client/load/server_metrics.h"

#include <absl/cleanup/cleanup.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace vfsload {
namespace {

constexpr timeval kTimeout{2, 0};
// More than any /metrics page; a server that sends more is not one.
constexpr size_t kMaxReply = 16 << 20;
constexpr std::string_view kCpuMetric = "process_cpu_seconds_total";

// A connected socket, or -1 with errno.
int ConnectTo(const addrinfo& where) {
  const int fd = socket(where.ai_family, where.ai_socktype | SOCK_CLOEXEC,
                        where.ai_protocol);
  if (fd < 0) return -1;
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kTimeout, sizeof(kTimeout));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kTimeout, sizeof(kTimeout));
  if (connect(fd, where.ai_addr, where.ai_addrlen) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

std::expected<std::string, std::string> FetchMetrics(
    const vfsclient::Address& address) {
  const auto failed = [&](std::string_view why) {
    return std::unexpected(
        fmt::format("cannot read http://{}/metrics: {}", address.Text(), why));
  };
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host().c_str(),
                  std::to_string(address.port()).c_str(), &hints, &found);
  if (error != 0) return failed(gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found,
                                                                &freeaddrinfo);
  int fd = -1;
  for (const addrinfo* each = found; each != nullptr && fd < 0;
       each = each->ai_next) {
    fd = ConnectTo(*each);
  }
  if (fd < 0) return failed(std::strerror(errno));
  const absl::Cleanup closer = [fd] { close(fd); };

  // HTTP/1.0: the body ends with the connection.
  const std::string request = fmt::format(
      "GET /metrics HTTP/1.0\r\nHost: {}\r\nConnection: close\r\n\r\n",
      address.Text());
  if (send(fd, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size())) {
    return failed(std::strerror(errno));
  }
  std::string reply;
  char buffer[16384];
  while (true) {
    const ssize_t got = recv(fd, buffer, sizeof(buffer), 0);
    if (got < 0) return failed(std::strerror(errno));
    if (got == 0) break;
    reply.append(buffer, static_cast<size_t>(got));
    if (reply.size() > kMaxReply) return failed("the reply does not end");
  }
  const std::string status_line = reply.substr(0, reply.find("\r\n"));
  if (status_line.find(" 200 ") == std::string::npos) {
    return failed(status_line.empty() ? "no reply" : status_line);
  }
  const size_t body = reply.find("\r\n\r\n");
  if (body == std::string::npos) return failed("no body");
  return reply.substr(body + 4);
}

std::optional<double> FindSample(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.size() > name.size() && line.starts_with(name) &&
        line[name.size()] == ' ') {
      const std::string number(line.substr(name.size() + 1));
      char* rest = nullptr;
      const double value = std::strtod(number.c_str(), &rest);
      if (rest != number.c_str()) return value;
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::expected<double, std::string> FetchServerCpuSeconds(
    const vfsclient::Address& address) {
  const auto text = FetchMetrics(address);
  if (!text) return std::unexpected(text.error());
  const auto value = FindSample(*text, kCpuMetric);
  if (!value) {
    return std::unexpected(
        fmt::format("http://{}/metrics has no {}", address.Text(), kCpuMetric));
  }
  return *value;
}

}  // namespace vfsload
