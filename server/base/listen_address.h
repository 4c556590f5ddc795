// ListenAddress: where a server listens, as people write it: "host:port"
// ("[::1]:port" for IPv6; port 0 picks a free one) or "unix:PATH".
//
// Also tells beforehand, in one line, why an address cannot be listened on: the
// libraries that do the listening say it in many lines, or not at all.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace vfsd {

class ListenAddress {
 public:
  // The error is a sentence for the command line.
  static std::expected<ListenAddress, std::string> Parse(std::string_view text);

  bool is_unix() const { return !path_.empty(); }
  const std::string& path() const { return path_; }  // of a unix socket
  const std::string& host() const { return host_; }  // without brackets
  uint16_t port() const { return port_; }

  // As Parse takes it.
  std::string text() const;
  // The same with another port.
  std::string TextWithPort(uint16_t port) const;
  // "127.0.0.1:80" for "localhost:80": for libraries that do not resolve names.
  // The error is a sentence.
  std::expected<std::string, std::string> NumericText() const;

  // Empty: the address can be bound now. Else why not, as one sentence. The
  // socket file of a dead server is removed; a live one's is "in use".
  std::string WhyUnusable() const;

 private:
  ListenAddress() = default;

  std::string host_;
  uint16_t port_ = 0;
  std::string path_;
};

}  // namespace vfsd
