// A connection of the load: a channel, a session on it, and the files that the
// session holds open.
//
// Made at preparation, which also makes its blocking calls; then shared by the
// workers, who only read it. Destroying it closes the session, and with it
// every handle.
#ifndef CLIENT_LOAD_CONNECTION_H_
#define CLIENT_LOAD_CONNECTION_H_

#include <grpcpp/generic/generic_stub.h>

#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/lib/address.h"
#include "client/lib/error.h"
#include "client/lib/session.h"
#include "client/load/file_catalog.h"

namespace vfsload {

// Who the load is.
struct Identity {
  uint32_t uid = 0;
  uint32_t gid = 0;
  // The server's anonymous caller instead.
  bool anonymous = false;
};

vfsclient::SessionOptions SessionOptionsFor(const Identity& identity,
                                            bool keep_alive);

struct HeldFile {
  vfsclient::Handle handle;
  StatExpectation stat;
};

class Connection {
 public:
  static std::expected<std::unique_ptr<Connection>, vfsclient::Error> Open(
      const vfsclient::Address& address, const Identity& identity,
      std::chrono::milliseconds timeout);

  const vfsclient::Session& session() const { return session_; }
  grpc::GenericStub& stub() { return stub_; }

  // Some files of the catalog, opened by this session at the first call and
  // held to its end. The error says which file could not be opened.
  std::expected<std::span<const HeldFile>, std::string> HeldFiles(
      const FileCatalog& catalog);

  // How many files the session holds open for the load.
  size_t held_files() const { return held_.size(); }

  // Closes the session.
  std::expected<uint32_t, vfsclient::Error> Close() { return session_.Close(); }
  // Instead, when the server is gone.
  void Abandon() { session_.Abandon(); }

 private:
  explicit Connection(vfsclient::Session session);

  vfsclient::Session session_;
  grpc::GenericStub stub_;
  std::vector<HeldFile> held_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_CONNECTION_H_
