// A session: an open-file table on the server with its credentials, and the
// calls that use it.
//
//   auto session = vfsclient::Session::Connect("127.0.0.1:9150");
//   if (!session) return Complain(session.error().Text());
//   auto stat = session->Stat("/proc/version");
//
// Opening one opens it on the server; destroying it closes it there, with every
// handle that is still open. Unless switched off, a thread of the session
// renews its lease, so an idle session lives as long as the object. All calls
// block until the answer is there or the deadline has passed. Safe to call
// from several threads at once, except Close, the destructor and moves.
#ifndef CLIENT_LIB_SESSION_H_
#define CLIENT_LIB_SESSION_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/lib/address.h"
#include "client/lib/error.h"
#include "vfs/v1/vfs.grpc.pb.h"

namespace vfsclient {

class BatchStream;

// An open file of a session.
struct Handle {
  uint64_t value = 0;
  friend bool operator==(Handle, Handle) = default;
};

struct SessionOptions {
  // Who asks. Absent: the server's anonymous caller.
  std::optional<vfs::v1::Credentials> credentials;
  // Absent: 022.
  std::optional<uint32_t> umask;
  // A name for people, shown by the server.
  std::string client_name;
  // The longest that one call may take.
  std::chrono::milliseconds timeout{10'000};
  // Renew the lease from a thread of its own.
  bool keep_alive = true;
};

class Session {
 public:
  using Stub = vfs::v1::VfsService::Stub;

  // `address` is host:port or unix:PATH.
  static std::expected<Session, Error> Connect(std::string_view address,
                                               SessionOptions options = {});
  // On a channel that others may use too.
  static std::expected<Session, Error> Start(
      std::shared_ptr<grpc::Channel> channel, SessionOptions options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  // Ends the session; returns how many handles were still open.
  std::expected<uint32_t, Error> Close();
  // Forgets the session without a word to the server, which is known to be
  // gone: nothing that is called later blocks. Its lease ends it there.
  void Abandon();

  // The everyday calls. Paths are absolute, or relative to the session's root.
  std::expected<Handle, Error> Open(std::string_view path, uint32_t flags,
                                    uint32_t mode = 0) const;
  std::expected<void, Error> Close(Handle handle) const;
  std::expected<vfs::v1::StatResponse, Error> Stat(std::string_view path,
                                                   uint32_t flags = 0) const;
  // fstat(2): with an empty path and AT_EMPTY_PATH.
  std::expected<vfs::v1::StatResponse, Error> Stat(Handle handle) const;
  std::expected<void, Error> Access(std::string_view path, uint32_t mode) const;
  // At most `size` bytes from `offset`; the server gives at most 1 MiB at once.
  std::expected<std::string, Error> Read(Handle handle, int64_t offset,
                                         uint32_t size) const;
  // Opens, reads to the end and closes: for small synthetic files.
  std::expected<std::string, Error> ReadFile(std::string_view path) const;
  // Hands each page to `page`, which returns whether it wants the next one.
  std::expected<void, Error> ReadDirectory(
      std::string_view path, bool with_attributes,
      const std::function<bool(vfs::v1::ReadDirectoryResponse&)>& page) const;
  std::expected<void, Error> MakeDirectory(std::string_view path,
                                           uint32_t mode) const;
  std::expected<void, Error> Unlink(std::string_view path,
                                    uint32_t flags = 0) const;
  std::expected<void, Error> Rename(std::string_view old_path,
                                    std::string_view new_path,
                                    uint32_t flags = 0) const;
  std::expected<void, Error> KeepAlive() const;

  // Any unary method of the service with its own request message; sets the
  // request's session: session.Call(&Session::Stub::Stat, request).
  template <class Request, class Response>
  std::expected<Response, Error> Call(
      grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                   Response*),
      Request request) const;

  // Many operations a message; the stream must end before the session does.
  std::unique_ptr<BatchStream> OpenBatchStream() const;

  // What the server said when the session was opened: limits, version.
  const vfs::v1::OpenSessionResponse& info() const;
  uint64_t id() const { return info().session(); }
  const std::shared_ptr<grpc::Channel>& channel() const;

 private:
  struct State;  // at a fixed address, for the thread that renews the lease

  explicit Session(std::unique_ptr<State> state);
  Stub& stub() const;
  void SetDeadline(grpc::ClientContext* context) const;

  std::unique_ptr<State> state_;
};

template <class Request, class Response>
std::expected<Response, Error> Session::Call(
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                 Response*),
    Request request) const {
  grpc::ClientContext context;
  SetDeadline(&context);
  request.set_session(id());
  Response response;
  const grpc::Status status = (stub().*method)(&context, request, &response);
  if (!status.ok()) return std::unexpected(Error::FromStatus(status));
  if (response.errno_code() != 0) {
    return std::unexpected(Error::Errno(response.errno_code()));
  }
  return response;
}

}  // namespace vfsclient

#endif  // CLIENT_LIB_SESSION_H_
