#include "tests/differential/service_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "client/lib/channel.h"
#include "client/lib/path.h"
#include "server/base/listen_address.h"
#include "server/rpc/operation_api.h"
#include "server/vfs/linux_abi.h"

namespace vfsd::differential {
namespace {

namespace v1 = ::vfs::v1;

// The most operations of a message: as many as indexes may take for handles.
constexpr size_t kMaxBatchOperations = 1000;

// The unary method of an operation.
template <typename T>
constexpr auto kMethod = nullptr;
#define VFSD_UNARY_METHOD(name) \
  template <>                   \
  constexpr auto kMethod<vfs::name##Operation> = &v1::VfsService::Stub::name;
VFSD_UNARY_METHOD(Open)
VFSD_UNARY_METHOD(Close)
VFSD_UNARY_METHOD(Stat)
VFSD_UNARY_METHOD(Access)
VFSD_UNARY_METHOD(Read)
VFSD_UNARY_METHOD(ReadDirectory)
VFSD_UNARY_METHOD(MakeDirectory)
VFSD_UNARY_METHOD(Unlink)
VFSD_UNARY_METHOD(Rename)
VFSD_UNARY_METHOD(MakeNode)
VFSD_UNARY_METHOD(MakeSymlink)
VFSD_UNARY_METHOD(MakeLink)
VFSD_UNARY_METHOD(ReadLink)
VFSD_UNARY_METHOD(SetAttributes)
VFSD_UNARY_METHOD(StatFilesystem)
#undef VFSD_UNARY_METHOD

// Puts an operation into its request, field by field as far as it has them.
// opened_here: how many operations the message has before this one.
template <typename T, typename Request>
void Encode(const T& operation, size_t opened_here, Request& request) {
  const auto file = [opened_here](vfs::Handle handle, auto&& set_handle,
                                  auto&& set_operation) {
    if (handle != 0 && handle <= opened_here) {
      set_operation(static_cast<uint32_t>(handle - 1));
    } else {
      set_handle(handle);
    }
  };
#define VFSD_ENCODE_FILE(argument, field)                             \
  file(                                                               \
      argument,                                                       \
      [&](vfs::Handle value) { request.set_##field##handle(value); }, \
      [&](uint32_t index) { request.set_##field##operation(index); })
  if constexpr (requires { operation.dir; }) {
    if (operation.dir.has_value()) VFSD_ENCODE_FILE(*operation.dir, dir_);
  }
  if constexpr (requires { operation.handle; }) {
    file(
        operation.handle, [&](vfs::Handle value) { request.set_handle(value); },
        [&](uint32_t index) { request.set_handle_operation(index); });
  }
  if constexpr (requires { operation.old_dir; }) {
    if (operation.old_dir.has_value())
      VFSD_ENCODE_FILE(*operation.old_dir, old_dir_);
    if (operation.new_dir.has_value())
      VFSD_ENCODE_FILE(*operation.new_dir, new_dir_);
    vfsclient::SetOldPath(operation.old_path, &request);
    vfsclient::SetNewPath(operation.new_path, &request);
  }
#undef VFSD_ENCODE_FILE
  if constexpr (requires { operation.path; })
    vfsclient::SetPath(operation.path, &request);
  if constexpr (requires { request.set_flags(0); })
    request.set_flags(operation.flags);
  if constexpr (requires { operation.mask; }) request.set_mask(operation.mask);
  if constexpr (requires { operation.mode + 0U; })
    request.set_mode(operation.mode);
  if constexpr (requires { operation.resolve; }) {
    if (operation.resolve.has_value()) request.set_resolve(*operation.resolve);
  }
  if constexpr (requires { operation.buffer; }) {
    request.set_offset(operation.offset);
    request.set_size(static_cast<uint32_t>(operation.buffer.size()));
  }
  if constexpr (requires { operation.cursor; }) {
    request.set_page_size(operation.page_size);
    request.set_cursor(operation.cursor);
    request.set_with_attributes(operation.with_attributes);
  }
  if constexpr (requires { operation.device; }) {
    request.set_rdev_major(vfs::linux_abi::DeviceMajor(operation.device));
    request.set_rdev_minor(vfs::linux_abi::DeviceMinor(operation.device));
  }
  if constexpr (requires { operation.target; }) {
    if (operation.target.has_value() && vfsclient::IsUtf8(*operation.target)) {
      request.set_target(std::string(*operation.target));
    } else if (operation.target.has_value()) {
      request.set_raw_target(std::string(*operation.target));
    }
  }
  if constexpr (std::is_same_v<T, vfs::SetAttributesOperation>) {
    if (operation.mode.has_value()) request.set_mode(*operation.mode);
    if (operation.uid.has_value()) request.set_uid(*operation.uid);
    if (operation.gid.has_value()) request.set_gid(*operation.gid);
    request.set_change_owner(operation.changes_owner);
    if (operation.size.has_value()) request.set_size_bytes(*operation.size);
    using TimeKind = vfs::TimeChange::Kind;
    request.set_atime_now(operation.atime.kind == TimeKind::kNow);
    if (operation.atime.kind == TimeKind::kSet) {
      request.set_atime_seconds(operation.atime.seconds);
      request.set_atime_nanoseconds(operation.atime.nanoseconds);
    }
    request.set_mtime_now(operation.mtime.kind == TimeKind::kNow);
    if (operation.mtime.kind == TimeKind::kSet) {
      request.set_mtime_seconds(operation.mtime.seconds);
      request.set_mtime_nanoseconds(operation.mtime.nanoseconds);
    }
  }
}

v1::Credentials ToWire(const Actor& actor) {
  v1::Credentials credentials;
  credentials.set_uid(actor.uid);
  credentials.set_gid(actor.gid);
  credentials.mutable_groups()->Add(actor.groups.begin(), actor.groups.end());
  return credentials;
}

// Claims an actor's ids where the request can.
template <typename Request>
void Claim(const Actor& actor, Request& request) {
  if constexpr (requires { request.mutable_credentials(); })
    *request.mutable_credentials() = ToWire(actor);
}

vfs::Statx FromWire(const v1::StatResponse& from) {
  vfs::Statx to;
  to.mask = from.mask();
  to.blksize = from.blksize();
  to.attributes = from.attributes();
  to.attributes_mask = from.attributes_mask();
  to.nlink = from.nlink();
  to.uid = from.uid();
  to.gid = from.gid();
  to.mode = from.mode();
  to.ino = from.ino();
  to.size = from.size();
  to.blocks = from.blocks();
  to.atime = Timestamp(from.atime_seconds(), from.atime_nanoseconds());
  to.btime = Timestamp(from.btime_seconds(), from.btime_nanoseconds());
  to.ctime = Timestamp(from.ctime_seconds(), from.ctime_nanoseconds());
  to.mtime = Timestamp(from.mtime_seconds(), from.mtime_nanoseconds());
  to.rdev_major = from.rdev_major();
  to.rdev_minor = from.rdev_minor();
  to.dev_major = from.dev_major();
  to.dev_minor = from.dev_minor();
  to.mnt_id = from.mnt_id();
  to.dio_mem_align = from.dio_mem_align();
  to.dio_offset_align = from.dio_offset_align();
  return to;
}

// What a response says beyond success, by its type.
template <typename Response>
void Fill(const Response&, Outcome&) {}
void Fill(const v1::OpenResponse& response, Outcome& outcome) {
  outcome.handle = response.handle();
}
void Fill(const v1::StatResponse& response, Outcome& outcome) {
  outcome.statx = FromWire(response);
}
void Fill(const v1::ReadResponse& response, Outcome& outcome) {
  outcome.count = static_cast<int64_t>(response.data().size());
}
void Fill(const v1::ReadDirectoryResponse& response, Outcome& outcome) {
  for (const v1::DirectoryEntry& entry : response.entries()) {
    ListedEntry& listed = outcome.entries.emplace_back(
        ListedEntry{vfsclient::NameOf(entry),
                    entry.ino(),
                    static_cast<uint8_t>(entry.type()),
                    {}});
    if (entry.has_attributes())
      listed.attributes = FromWire(entry.attributes());
  }
  outcome.next_cursor = response.next_cursor();
}
void Fill(const v1::ReadLinkResponse& response, Outcome& outcome) {
  outcome.text =
      response.has_raw_target() ? response.raw_target() : response.target();
}
void Fill(const v1::StatFilesystemResponse& response, Outcome& outcome) {
  outcome.statfs = {response.type(), response.block_size(), response.name_max(),
                    response.flags()};
}

// No answer that anything could be compared with.
[[noreturn]] void Die(std::string_view what) {
  fmt::print(stderr, "differential: the service: {}\n", what);
  std::abort();
}

int32_t ErrnoOf(const vfsclient::Error& error) {
  if (error.kind() != vfsclient::Error::Kind::kErrno) Die(error.Text());
  return error.errno_number();
}

template <typename T>
T Must(std::expected<T, std::string> result) {
  if (!result.has_value()) Die(result.error());
  return *std::move(result);
}

}  // namespace

ServiceRunner::ServiceRunner(std::string name, Calls calls,
                             const vfs::VfsOptions& options)
    : VfsdRunner(std::move(name)), calls_(calls) {
  InstanceOptions instance;
  instance.vfs = options;
  instance_ = Must(Instance::Create(instance));
  rpc::ServerOptions server;
  server.listen = {Must(ListenAddress::Parse("127.0.0.1:0"))};
  server.queues = 1;
  server_ = Must(rpc::Server::Start(server, instance_->backend()));
  channel_ = vfsclient::MakeChannel(
      Must(vfsclient::Address::Parse(server_->addresses().front())));
  admin_ = v1::AdminService::NewStub(channel_);
}

ServiceRunner::~ServiceRunner() {
  admin_.reset();
  channel_.reset();
  server_.reset();
  instance_.reset();
}

vfs::SessionRef ServiceRunner::OpenSession(const Program& program) {
  actors_ = program.actors;
  vfsclient::SessionOptions options;
  options.credentials = ToWire(actors_.front());
  options.umask = program.umask;
  options.keep_alive = false;  // every call renews the lease
  auto session = vfsclient::Session::Start(channel_, std::move(options));
  if (!session.has_value()) Die(session.error().Text());
  session_ = *std::move(session);
  if (calls_ == Calls::kBatched) stream_ = session_->OpenBatchStream();
  return instance_->sessions().Find(session_->id());
}

std::string ServiceRunner::CloseSession() {
  std::string wrong;
  if (stream_ != nullptr) {
    const auto finished = stream_->Finish();
    if (!finished.has_value()) wrong = finished.error().Text();
    stream_.reset();
  }
  const auto closed = session_->Close();
  if (!closed.has_value()) wrong = closed.error().Text();
  session_.reset();
  return wrong;
}

Outcome ServiceRunner::Execute(const Operation& operation, uint32_t actor) {
  if (calls_ == Calls::kUnary) return Call(operation, actor);
  // A message of one.
  std::vector<Outcome> outcomes(1);
  AddOperation(operation, actor);
  steps_.push_back(0);
  Flush(outcomes);
  return outcomes.front();
}

Outcome ServiceRunner::Call(const Operation& operation, uint32_t actor) {
  return std::visit(
      [&](const auto& op) {
        using T = std::decay_t<decltype(op)>;
        typename rpc::OperationApi<T>::Request request;
        Encode(op, 0, request);
        // The session has the first one's credentials.
        if (actor != 0) Claim(actors_[actor], request);
        const auto response = session_->Call(kMethod<T>, std::move(request));
        Outcome outcome;
        if (response.has_value()) {
          Fill(*response, outcome);
        } else {
          outcome.error = ErrnoOf(response.error());
        }
        return outcome;
      },
      operation);
}

void ServiceRunner::AddOperation(const Operation& operation, uint32_t actor) {
  v1::BatchOperation* const row = batch_.mutable_request()->add_operations();
  std::visit(
      [&](const auto& op) {
        using Api = rpc::OperationApi<std::decay_t<decltype(op)>>;
        using Request = typename Api::Request;
        auto& request =
            static_cast<Request&>(*row->GetReflection()->MutableMessage(
                row,
                row->GetDescriptor()->FindFieldByNumber(Api::kBatchOperation)));
        Encode(op, batch_.size() - 1, request);
        if (actor != 0) Claim(actors_[actor], request);
      },
      operation);
}

std::vector<Outcome> ServiceRunner::RunAll(const Program& program,
                                           std::span<const Outcome> kernel) {
  constexpr size_t kSizes[] = {kMaxBatchOperations, 16, 5, 2};
  const size_t size = kSizes[program.seed % std::size(kSizes)];
  std::vector<Outcome> outcomes(kernel.size());
  for (size_t i = 0; i < kernel.size(); ++i) {
    const Step& step = program.steps[i];
    if (kernel[i].error == kNotAsked) {
      outcomes[i] = kernel[i];
      continue;
    }
    if (ChangesMounts(step.kind)) {
      Flush(outcomes);
      outcomes[i] = ChangeMounts(step);
      continue;
    }
    Operation operation = OperationOf(step);
    if (auto* const read = std::get_if<vfs::ReadDirectoryOperation>(&operation))
      read->page_size = 10'000;  // a page
    AddOperation(operation, step.actor);
    steps_.push_back(i);
    const bool opens = Uses(step.kind, kResult) && kernel[i].error == 0;
    if (opens) {
      const std::optional<vfs::Handle> earlier =
          handles().Set(step.result, batch_.size());
      if (earlier.has_value()) {
        vfs::CloseOperation close;
        close.handle = *earlier;
        AddOperation(close, step.actor);
        steps_.push_back(std::nullopt);
      }
    }
    if (batch_.size() + 2 > size) Flush(outcomes);
  }
  Flush(outcomes);
  return outcomes;
}

void ServiceRunner::Flush(std::vector<Outcome>& outcomes) {
  if (batch_.size() == 0) return;
  const auto response = stream_->Run(&batch_);
  if (!response.has_value()) Die(response.error().Text());
  if (static_cast<size_t>(response->results_size()) != steps_.size())
    Die("a batch's answer has another number of results");
  std::vector<vfs::Handle> opened;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const v1::BatchResult& result = response->results(static_cast<int>(i));
    opened.push_back(result.open().handle());
    if (!steps_[i].has_value()) continue;
    Outcome& outcome = outcomes[*steps_[i]];
    outcome.error = result.errno_code();
    switch (result.kind_case()) {
      case v1::BatchResult::kOpen:
        Fill(result.open(), outcome);
        break;
      case v1::BatchResult::kStat:
        Fill(result.stat(), outcome);
        break;
      case v1::BatchResult::kRead:
        Fill(result.read(), outcome);
        break;
      case v1::BatchResult::kReadDirectory:
        Fill(result.read_directory(), outcome);
        break;
      case v1::BatchResult::kReadLink:
        Fill(result.read_link(), outcome);
        break;
      case v1::BatchResult::kStatFilesystem:
        Fill(result.stat_filesystem(), outcome);
        break;
      case v1::BatchResult::KIND_NOT_SET:
        break;
    }
    std::sort(outcome.entries.begin(), outcome.entries.end(),
              [](const ListedEntry& a, const ListedEntry& b) {
                return a.name < b.name;
              });
  }
  // What was known by its operation has its handle now.
  for (auto& [number, handle] : handles().all()) {
    if (handle != 0 && handle <= opened.size()) handle = opened[handle - 1];
  }
  batch_.Clear();
  steps_.clear();
}

Outcome ServiceRunner::ChangeMounts(const Step& step) {
  grpc::ClientContext context;
  grpc::Status status;
  const bool bit = step.flags != 0;  // the only one of each kind
  if (step.kind == Kind::kUnmount) {
    v1::UnmountRequest request;
    request.set_path(step.path.value_or(""));
    request.set_lazy(bit);
    v1::UnmountResponse response;
    status = admin_->Unmount(&context, request, &response);
  } else {
    v1::MountRequest request;
    request.set_path(step.path.value_or(""));
    request.set_read_only(bit);
    request.set_no_direct_io(no_direct_io());
    if (step.kind == Kind::kBind) {
      request.set_bind_path(step.path2.value_or(""));
    } else if (step.kind == Kind::kRemount) {
      request.set_remount(true);
    } else {
      request.set_empty_tree(true);
    }
    v1::MountResponse response;
    status = admin_->Mount(&context, request, &response);
  }
  Outcome outcome;
  if (!status.ok())
    outcome.error = ErrnoOf(vfsclient::Error::FromStatus(status));
  return outcome;
}

}  // namespace vfsd::differential
