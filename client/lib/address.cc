#include "client/lib/address.h"

#include <fmt/format.h>

#include <charconv>

namespace vfsclient {
namespace {

// sizeof(sockaddr_un::sun_path) less the final NUL (unix(7)).
constexpr size_t kMaxUnixPath = 107;

constexpr std::string_view kUnixPrefix = "unix:";

}  // namespace

std::expected<Address, std::string> Address::Parse(std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return std::unexpected(fmt::format(
        "'{}' is no address: {} (want host:port or unix:PATH)", text, why));
  };
  Address address;
  if (text.starts_with(kUnixPrefix)) {
    std::string_view path = text.substr(kUnixPrefix.size());
    // unix:///path is how gRPC writes an absolute path; it means the same.
    if (path.starts_with("//")) path.remove_prefix(2);
    if (path.empty()) return bad("the path is empty");
    if (path.size() > kMaxUnixPath) {
      return bad("the path of a socket has at most 107 bytes");
    }
    address.path_ = path;
    return address;
  }

  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad("there is no port");
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return bad("']' is missing");
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) {
      return bad("brackets are for IPv6 addresses");
    }
  } else if (host.find(':') != std::string_view::npos) {
    return bad("an IPv6 address goes in brackets");
  }
  if (host.empty()) return bad("the host is empty");
  if (host.find_first_of("/ \t") != std::string_view::npos) {
    return bad("the host has a character that no host has");
  }
  uint16_t number = 0;
  const auto [end, error] =
      std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number == 0) {
    return bad("the port is not a number from 1 to 65535");
  }
  address.host_ = host;
  address.port_ = number;
  return address;
}

std::string Address::Text() const {
  if (IsUnix()) return fmt::format("unix:{}", path_);
  if (host_.find(':') != std::string::npos) {
    return fmt::format("[{}]:{}", host_, port_);
  }
  return fmt::format("{}:{}", host_, port_);
}

std::string Address::GrpcTarget() const {
  return IsUnix() ? Text() : fmt::format("dns:///{}", Text());
}

}  // namespace vfsclient
