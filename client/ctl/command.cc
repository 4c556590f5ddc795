#include "client/ctl/command.h"

#include <fmt/format.h>

#include <cstdio>

#include "client/lib/path.h"

namespace vfsctl {

std::expected<vfsclient::Session, vfsclient::Error> OpenSession(
    const GlobalOptions& options) {
  vfsclient::SessionOptions session;
  session.client_name = "vfsctl";
  session.timeout = options.timeout;
  session.keep_alive = false;
  if (options.uid || options.gid) {
    vfs::v1::Credentials credentials;
    // One without the other would leave the other at root's 0.
    const uint32_t uid = options.uid ? *options.uid : *options.gid;
    credentials.set_uid(uid);
    credentials.set_gid(options.gid.value_or(uid));
    session.credentials = std::move(credentials);
  }
  return vfsclient::Session::Connect(options.target, std::move(session));
}

ExitStatus Complain(std::string_view command, std::string_view subject,
                    const vfsclient::Error& error) {
  if (subject.empty()) {
    fmt::print(stderr, "vfsctl: {}: {}\n", command, error.Text());
  } else {
    fmt::print(stderr, "vfsctl: {}: {}: {}\n", command, Printable(subject),
               error.Text());
  }
  if (error.kind() != vfsclient::Error::Kind::kTransport) {
    return ExitStatus::kError;
  }
  return error.code() == grpc::StatusCode::UNAVAILABLE ||
                 error.code() == grpc::StatusCode::DEADLINE_EXCEEDED
             ? ExitStatus::kUnreachable
             : ExitStatus::kError;
}

std::string Printable(std::string_view name) {
  const bool utf8 = vfsclient::IsUtf8(name);
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !utf8)) {
      text += fmt::format("\\{:03o}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace vfsctl
