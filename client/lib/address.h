// Where a server listens, as people type it: "host:port" or "unix:PATH".
//
// host is a name, an IPv4 address, or an IPv6 address in brackets. A plain
// value: copy it freely.
#ifndef CLIENT_LIB_ADDRESS_H_
#define CLIENT_LIB_ADDRESS_H_

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace vfsclient {

class Address {
 public:
  // The error says what is wrong with `text`, for people. Port 0 is an error:
  // a client cannot let the system pick one.
  static std::expected<Address, std::string> Parse(std::string_view text);

  bool IsUnix() const { return port_ == 0; }
  // Of this machine for sure: a unix socket, or a loopback host.
  bool IsLocal() const {
    return IsUnix() || host_ == "localhost" || host_ == "::1" ||
           host_.starts_with("127.");
  }
  // The host without brackets; empty for a unix socket.
  const std::string& host() const { return host_; }
  // 0 for a unix socket.
  uint16_t port() const { return port_; }
  // The socket's path; empty for host:port.
  const std::string& path() const { return path_; }
  // As it was typed.
  std::string Text() const;
  // What grpc::CreateChannel takes.
  std::string GrpcTarget() const;

 private:
  Address() = default;

  std::string host_;
  uint16_t port_ = 0;
  std::string path_;
};

}  // namespace vfsclient

#endif  // CLIENT_LIB_ADDRESS_H_
