#include "client/lib/session.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "client/lib/batch_stream.h"
#include "client/lib/channel.h"
#include "client/lib/path.h"

namespace vfsclient {
namespace {

// More than any synthetic file that is read whole; the server gives no more at
// once.
constexpr uint32_t kReadSize = 1 << 20;

// Drops the response of a call that says nothing but "it worked".
template <class Response>
std::expected<void, Error> Outcome(
    const std::expected<Response, Error>& result) {
  if (!result) return std::unexpected(result.error());
  return {};
}

}  // namespace

struct Session::State {
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Stub> stub;
  vfs::v1::OpenSessionResponse info;
  std::chrono::milliseconds timeout{};
  bool open = true;
  std::jthread keep_alive;  // last: it uses the rest

  // A third of the lease leaves room for two renewals that fail.
  void KeepAlive(std::stop_token stop) const {
    const std::chrono::milliseconds every(
        std::max<uint32_t>(info.lease_milliseconds() / 3, 1));
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stop, every, [&] { return false; }) &&
           !stop.stop_requested()) {
      grpc::ClientContext context;
      context.set_deadline(std::chrono::system_clock::now() + every);
      vfs::v1::KeepAliveRequest request;
      request.set_session(info.session());
      vfs::v1::KeepAliveResponse response;
      // A failure is not ours to report: the next call will meet it.
      stub->KeepAlive(&context, request, &response);
    }
  }
};

std::expected<Session, Error> Session::Connect(std::string_view address,
                                               SessionOptions options) {
  const auto parsed = Address::Parse(address);
  if (!parsed) {
    return std::unexpected(
        Error::Transport(grpc::StatusCode::INVALID_ARGUMENT, parsed.error()));
  }
  auto channel = vfsclient::Connect(*parsed, options.timeout);
  if (!channel) return std::unexpected(channel.error());
  return Start(*std::move(channel), std::move(options));
}

std::expected<Session, Error> Session::Start(
    std::shared_ptr<grpc::Channel> channel, SessionOptions options) {
  auto state = std::make_unique<State>();
  state->stub = vfs::v1::VfsService::NewStub(channel);
  state->channel = std::move(channel);
  state->timeout = options.timeout;

  vfs::v1::OpenSessionRequest request;
  if (options.credentials) {
    *request.mutable_credentials() = *std::move(options.credentials);
  }
  if (options.umask) request.set_umask(*options.umask);
  request.set_client_name(std::move(options.client_name));
  request.set_errors_in_band(true);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + options.timeout);
  const grpc::Status status =
      state->stub->OpenSession(&context, request, &state->info);
  if (!status.ok()) return std::unexpected(Error::FromStatus(status));
  if (state->info.errno_code() != 0) {
    return std::unexpected(Error::Errno(state->info.errno_code()));
  }
  if (options.keep_alive) {
    state->keep_alive =
        std::jthread([state = state.get()](std::stop_token stop) {
          state->KeepAlive(std::move(stop));
        });
  }
  return Session(std::move(state));
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;

Session& Session::operator=(Session&& other) noexcept {
  if (this != &other) {
    if (state_ != nullptr) static_cast<void>(Close());
    state_ = std::move(other.state_);
  }
  return *this;
}

Session::~Session() {
  if (state_ != nullptr) static_cast<void>(Close());
}

void Session::Abandon() {
  state_->open = false;
  if (state_->keep_alive.joinable()) {
    state_->keep_alive.request_stop();
    state_->keep_alive.join();
  }
}

std::expected<uint32_t, Error> Session::Close() {
  if (!state_->open) return 0;
  Abandon();
  const auto response =
      Call(&Stub::CloseSession, vfs::v1::CloseSessionRequest());
  if (!response) return std::unexpected(response.error());
  return response->closed_handles();
}

std::expected<Handle, Error> Session::Open(std::string_view path,
                                           uint32_t flags,
                                           uint32_t mode) const {
  vfs::v1::OpenRequest request;
  SetPath(path, &request);
  request.set_flags(flags);
  request.set_mode(mode);
  const auto response = Call(&Stub::Open, std::move(request));
  if (!response) return std::unexpected(response.error());
  return Handle{response->handle()};
}

std::expected<void, Error> Session::Close(Handle handle) const {
  vfs::v1::CloseRequest request;
  request.set_handle(handle.value);
  return Outcome(Call(&Stub::Close, std::move(request)));
}

std::expected<vfs::v1::StatResponse, Error> Session::Stat(
    std::string_view path, uint32_t flags) const {
  vfs::v1::StatRequest request;
  SetPath(path, &request);
  request.set_flags(flags);
  request.set_mask(vfs::v1::STATX_MASK_BASIC_STATS | vfs::v1::STATX_MASK_BTIME |
                   vfs::v1::STATX_MASK_MNT_ID);
  return Call(&Stub::Stat, std::move(request));
}

std::expected<vfs::v1::StatResponse, Error> Session::Stat(Handle handle) const {
  vfs::v1::StatRequest request;
  request.set_dir_handle(handle.value);
  request.set_path("");
  request.set_flags(vfs::v1::AT_FLAG_AT_EMPTY_PATH);
  request.set_mask(vfs::v1::STATX_MASK_BASIC_STATS);
  return Call(&Stub::Stat, std::move(request));
}

std::expected<void, Error> Session::Access(std::string_view path,
                                           uint32_t mode) const {
  vfs::v1::AccessRequest request;
  SetPath(path, &request);
  request.set_mode(mode);
  return Outcome(Call(&Stub::Access, std::move(request)));
}

std::expected<std::string, Error> Session::Read(Handle handle, int64_t offset,
                                                uint32_t size) const {
  vfs::v1::ReadRequest request;
  request.set_handle(handle.value);
  request.set_offset(offset);
  request.set_size(size);
  auto response = Call(&Stub::Read, std::move(request));
  if (!response) return std::unexpected(response.error());
  return std::move(*response->mutable_data());
}

std::expected<std::string, Error> Session::ReadFile(
    std::string_view path) const {
  const auto handle = Open(path, vfs::v1::OPEN_FLAG_O_RDONLY);
  if (!handle) return std::unexpected(handle.error());
  std::string content;
  std::expected<std::string, Error> chunk;
  do {
    chunk = Read(*handle, static_cast<int64_t>(content.size()), kReadSize);
    if (chunk) content += *chunk;
  } while (chunk && !chunk->empty());
  static_cast<void>(Close(*handle));
  if (!chunk) return std::unexpected(chunk.error());
  return content;
}

std::expected<void, Error> Session::ReadDirectory(
    std::string_view path, bool with_attributes,
    const std::function<bool(vfs::v1::ReadDirectoryResponse&)>& page) const {
  vfs::v1::ReadDirectoryRequest request;
  SetPath(path, &request);
  request.set_with_attributes(with_attributes);
  request.set_mask(with_attributes ? vfs::v1::STATX_MASK_BASIC_STATS : 0);
  while (true) {
    auto response = Call(&Stub::ReadDirectory, request);
    if (!response) return std::unexpected(response.error());
    if (!page(*response) || response->next_cursor() == 0) return {};
    request.set_cursor(response->next_cursor());
  }
}

std::expected<void, Error> Session::MakeDirectory(std::string_view path,
                                                  uint32_t mode) const {
  vfs::v1::MakeDirectoryRequest request;
  SetPath(path, &request);
  request.set_mode(mode);
  return Outcome(Call(&Stub::MakeDirectory, std::move(request)));
}

std::expected<void, Error> Session::Unlink(std::string_view path,
                                           uint32_t flags) const {
  vfs::v1::UnlinkRequest request;
  SetPath(path, &request);
  request.set_flags(flags);
  return Outcome(Call(&Stub::Unlink, std::move(request)));
}

std::expected<void, Error> Session::Rename(std::string_view old_path,
                                           std::string_view new_path,
                                           uint32_t flags) const {
  vfs::v1::RenameRequest request;
  SetOldPath(old_path, &request);
  SetNewPath(new_path, &request);
  request.set_flags(flags);
  return Outcome(Call(&Stub::Rename, std::move(request)));
}

std::expected<void, Error> Session::KeepAlive() const {
  return Outcome(Call(&Stub::KeepAlive, vfs::v1::KeepAliveRequest()));
}

std::unique_ptr<BatchStream> Session::OpenBatchStream() const {
  return std::make_unique<BatchStream>(stub(), id());
}

const vfs::v1::OpenSessionResponse& Session::info() const {
  return state_->info;
}

const std::shared_ptr<grpc::Channel>& Session::channel() const {
  return state_->channel;
}

Session::Stub& Session::stub() const { return *state_->stub; }

void Session::SetDeadline(grpc::ClientContext* context) const {
  context->set_deadline(std::chrono::system_clock::now() + state_->timeout);
}

}  // namespace vfsclient
