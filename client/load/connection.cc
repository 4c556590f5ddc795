#include "client/load/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/lib/channel.h"

namespace vfsload {
namespace {

// Enough that a table of handles is used, not one slot of it.
constexpr size_t kHeldFiles = 64;

}  // namespace

vfsclient::SessionOptions SessionOptionsFor(const Identity& identity,
                                            bool keep_alive) {
  vfsclient::SessionOptions options;
  options.client_name = "vfsload";
  options.keep_alive = keep_alive;
  if (!identity.anonymous) {
    vfs::v1::Credentials credentials;
    credentials.set_uid(identity.uid);
    credentials.set_gid(identity.gid);
    options.credentials = std::move(credentials);
  }
  return options;
}

std::expected<std::unique_ptr<Connection>, vfsclient::Error> Connection::Open(
    const vfsclient::Address& address, const Identity& identity,
    std::chrono::milliseconds timeout) {
  auto channel = vfsclient::Connect(address, timeout);
  if (!channel) return std::unexpected(channel.error());
  auto session = vfsclient::Session::Start(
      *std::move(channel), SessionOptionsFor(identity, /*keep_alive=*/false));
  if (!session) return std::unexpected(session.error());
  return std::unique_ptr<Connection>(new Connection(*std::move(session)));
}

Connection::Connection(vfsclient::Session session)
    : session_(std::move(session)), stub_(session_.channel()) {}

std::expected<std::span<const HeldFile>, std::string> Connection::HeldFiles(
    const FileCatalog& catalog) {
  if (!held_.empty()) return std::span<const HeldFile>(held_);
  const size_t limit =
      std::max<size_t>(session_.info().max_handles() / 4, size_t{1});
  const size_t count = std::min({kHeldFiles, limit, catalog.files.size()});
  for (size_t i = 0; i < count; ++i) {
    const CatalogFile& file = catalog.files[i];
    const auto handle = session_.Open(file.path, vfs::v1::OPEN_FLAG_O_RDONLY);
    if (!handle) {
      return std::unexpected(
          fmt::format("open {}: {}", file.path, handle.error().Text()));
    }
    held_.push_back({*handle, file.stat});
  }
  return std::span<const HeldFile>(held_);
}

}  // namespace vfsload
