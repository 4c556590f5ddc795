#include "server/base/listen_address.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

namespace vfsd {
namespace {

class Socket {
 public:
  Socket(int family, int type) : fd_(socket(family, type | SOCK_CLOEXEC, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

std::string ErrorText(int error) {
  return std::system_category().message(error);
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::expected<AddressList, std::string> Resolve(const std::string& host,
                                                uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return std::unexpected(std::string(gai_strerror(error)));
  return AddressList(found, &freeaddrinfo);
}

std::string HostAndPort(const std::string& host, uint16_t port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string WhyPathUnusable(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return ErrorText(errno);
  } else if (!S_ISSOCK(status.st_mode)) {
    return "the file exists and is no socket";
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  if (status.st_ino != 0) {
    // Without waiting: where the backlog is full (EAGAIN), a server that hangs
    // has the socket.
    const Socket probe(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK);
    if (probe.fd() < 0) return ErrorText(errno);
    if (connect(probe.fd(), generic, sizeof(address)) == 0 || errno == EAGAIN)
      return ErrorText(EADDRINUSE);
    if (errno != ECONNREFUSED) return ErrorText(errno);
    if (unlink(path.c_str()) != 0) return ErrorText(errno);
  }
  const Socket attempt(AF_UNIX, SOCK_STREAM);
  if (bind(attempt.fd(), generic, sizeof(address)) != 0)
    return ErrorText(errno);
  unlink(path.c_str());
  return {};
}

}  // namespace

std::expected<ListenAddress, std::string> ListenAddress::Parse(
    std::string_view text) {
  const auto fail = [&](std::string_view why) {
    return std::unexpected("bad address \"" + std::string(text) +
                           "\": " + std::string(why));
  };
  ListenAddress result;
  if (text.starts_with("unix:")) {
    result.path_ = text.substr(5);
    if (result.path_.empty()) return fail("unix: needs a path");
    if (result.path_.size() >= sizeof(sockaddr_un::sun_path)) {
      return fail("the path of a unix socket has at most 107 bytes");
    }
    return result;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return fail("want host:port or unix:PATH");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return fail("write an IPv6 address as [ADDRESS]:port");
  }
  if (host.empty()) return fail("want host:port or unix:PATH");
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), result.port_);
  if (error != std::errc() || end != port.data() + port.size()) {
    return fail("the port is a number from 0 to 65535");
  }
  result.host_ = host;
  return result;
}

std::string ListenAddress::text() const { return TextWithPort(port_); }

std::string ListenAddress::TextWithPort(uint16_t port) const {
  return is_unix() ? "unix:" + path_ : HostAndPort(host_, port);
}

std::expected<std::string, std::string> ListenAddress::NumericText() const {
  std::expected<AddressList, std::string> addresses = Resolve(host_, port_);
  if (!addresses.has_value()) return std::unexpected(addresses.error());
  char numeric[NI_MAXHOST];
  const int error =
      getnameinfo((*addresses)->ai_addr, (*addresses)->ai_addrlen, numeric,
                  sizeof(numeric), nullptr, 0, NI_NUMERICHOST);
  if (error != 0) return std::unexpected(std::string(gai_strerror(error)));
  return HostAndPort(numeric, port_);
}

std::string ListenAddress::WhyUnusable() const {
  if (is_unix()) return WhyPathUnusable(path_);
  const std::expected<AddressList, std::string> addresses =
      Resolve(host_, port_);
  if (!addresses.has_value()) return addresses.error();
  std::string why = "no address";
  for (const addrinfo* info = addresses->get(); info != nullptr;
       info = info->ai_next) {
    const Socket attempt(info->ai_family, info->ai_socktype);
    const int on = 1;
    // As the server itself binds: a port in TIME_WAIT is free.
    setsockopt(attempt.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(attempt.fd(), info->ai_addr, info->ai_addrlen) == 0 &&
        listen(attempt.fd(), 1) == 0) {
      return {};
    }
    why = ErrorText(errno);
  }
  return why;
}

}  // namespace vfsd
