#include "client/load/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "client/lib/batch.h"
#include "client/lib/batch_operation.h"
#include "client/lib/batch_stream.h"
#include "client/lib/errno_table.h"
#include "client/lib/path.h"
#include "client/load/interrupt.h"

namespace vfsload {
namespace {

using Clock = std::chrono::steady_clock;
using vfsclient::Error;
using Stub = vfsclient::Session::Stub;

constexpr size_t kPrepareBatch = 1000;
constexpr uint32_t kFormat = 0170000, kDirectory = 0040000, kRegular = 0100000,
                   kSymlink = 0120000;

// The method of each request.
auto MethodOf(const vfs::v1::OpenRequest*) { return &Stub::Open; }
auto MethodOf(const vfs::v1::CloseRequest*) { return &Stub::Close; }
auto MethodOf(const vfs::v1::StatRequest*) { return &Stub::Stat; }
auto MethodOf(const vfs::v1::AccessRequest*) { return &Stub::Access; }
auto MethodOf(const vfs::v1::ReadRequest*) { return &Stub::Read; }
auto MethodOf(const vfs::v1::ReadDirectoryRequest*) {
  return &Stub::ReadDirectory;
}
auto MethodOf(const vfs::v1::MakeDirectoryRequest*) {
  return &Stub::MakeDirectory;
}
auto MethodOf(const vfs::v1::UnlinkRequest*) { return &Stub::Unlink; }
auto MethodOf(const vfs::v1::RenameRequest*) { return &Stub::Rename; }
auto MethodOf(const vfs::v1::MakeNodeRequest*) { return &Stub::MakeNode; }
auto MethodOf(const vfs::v1::MakeSymlinkRequest*) { return &Stub::MakeSymlink; }
auto MethodOf(const vfs::v1::MakeLinkRequest*) { return &Stub::MakeLink; }
auto MethodOf(const vfs::v1::ReadLinkRequest*) { return &Stub::ReadLink; }
auto MethodOf(const vfs::v1::SetAttributesRequest*) {
  return &Stub::SetAttributes;
}
auto MethodOf(const vfs::v1::StatFilesystemRequest*) {
  return &Stub::StatFilesystem;
}

struct Answer {
  int errno_code = 0;
  uint64_t handle = 0;
};

std::expected<Answer, Error> Ask(const vfsclient::Session& session,
                                 vfs::v1::BatchOperation* operation) {
  using Result = std::expected<Answer, Error>;
  return vfsclient::VisitRequest(operation, [&](auto* request) -> Result {
    const auto response = session.Call(MethodOf(request), *request);
    if (!response) {
      if (response.error().kind() != Error::Kind::kErrno) {
        return std::unexpected(response.error());
      }
      return Answer{response.error().errno_number(), 0};
    }
    Answer answer;
    if constexpr (requires { response->handle(); }) {
      answer.handle = response->handle();
    }
    return answer;
  });
}

class Replayer {
 public:
  Replayer(const vfsclient::Session& session, const ReplayPlan& plan,
           const ReplayOptions& options)
      : session_(session),
        plan_(plan),
        options_(options),
        handles_(plan.operations.size(), 0) {}

  ReplayOutcome Run() {
    start_ = Clock::now();
    for (const ReplayOperation& operation : plan_.operations) {
      if (operation.time) {
        first_time_ = *operation.time;
        break;
      }
    }
    if (options_.batch > 1) {
      RunBatches();
    } else {
      RunCalls();
    }
    outcome_.elapsed = Clock::now() - start_;
    return std::move(outcome_);
  }

 private:
  // When an operation is meant to be sent; now, if the trace does not say.
  Clock::time_point Intended(const ReplayOperation& operation) const {
    if (!options_.speed || !operation.time) return Clock::now();
    return start_ + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(
                            (*operation.time - first_time_) / *options_.speed));
  }

  bool Over() {
    outcome_.interrupted = Interrupted();
    return outcome_.interrupted || outcome_.failure.has_value();
  }

  // The operation ready to be sent. False: its file is not open here.
  bool Prepare(const ReplayOperation& planned,
               vfs::v1::BatchOperation* operation) const {
    *operation = planned.operation;
    if (!planned.uses) return true;
    const uint64_t handle = handles_[*planned.uses];
    if (handle == 0) return false;
    vfsclient::SetFile(vfsclient::Handle{handle}, operation);
    return true;
  }

  void Take(size_t index, const Answer& answer) {
    ++outcome_.answered;
    handles_[index] = answer.handle;
    if (answer.errno_code != plan_.operations[index].expected_errno) {
      outcome_.differences.push_back({index, answer.errno_code});
    }
  }

  void RunCalls() {
    vfs::v1::BatchOperation operation;
    for (size_t i = 0; i < plan_.operations.size() && !Over(); ++i) {
      const ReplayOperation& planned = plan_.operations[i];
      if (!Prepare(planned, &operation)) {
        ++outcome_.without_file;
        continue;
      }
      const auto intended = Intended(planned);
      SleepUntil(intended);
      const auto sent = Clock::now();
      const auto answer = Ask(session_, &operation);
      if (!answer) {
        outcome_.failure = answer.error();
        return;
      }
      const auto now = Clock::now();
      outcome_.service.Record(now - sent);
      if (options_.speed)
        outcome_.response.Record(now - std::min(intended, sent));
      Take(i, *answer);
    }
  }

  void RunBatches() {
    auto stream = session_.OpenBatchStream();
    vfsclient::Batch batch;
    std::vector<size_t> sent_operations;
    // Where in the message an operation of it is.
    std::vector<uint32_t> place(plan_.operations.size(), 0);
    for (size_t i = 0; i < plan_.operations.size() && !Over();) {
      batch.Clear();
      sent_operations.clear();
      const size_t begin = i;
      const auto intended = Intended(plan_.operations[i]);
      SleepUntil(intended);
      const auto due = Clock::now();
      for (; i < plan_.operations.size() && batch.size() < options_.batch;
           ++i) {
        const ReplayOperation& planned = plan_.operations[i];
        if (i > begin && options_.speed && Intended(planned) > due) break;
        vfs::v1::BatchOperation operation = planned.operation;
        if (planned.uses && *planned.uses >= begin) {
          // Opened in this very message, if it opens here.
          vfsclient::SetFile(vfsclient::OperationIndex{place[*planned.uses]},
                             &operation);
        } else if (!Prepare(planned, &operation)) {
          ++outcome_.without_file;
          continue;
        }
        place[i] = static_cast<uint32_t>(batch.size());
        batch.Add(operation);
        sent_operations.push_back(i);
      }
      if (sent_operations.empty()) continue;
      const auto sent = Clock::now();
      const auto response = stream->Run(&batch);
      if (!response) {
        outcome_.failure = response.error();
        return;
      }
      const auto now = Clock::now();
      outcome_.service.Record(now - sent);
      if (options_.speed)
        outcome_.response.Record(now - std::min(intended, sent));
      const auto results = static_cast<size_t>(response->results_size());
      if (results != sent_operations.size()) {
        outcome_.failure =
            Error::Transport(grpc::StatusCode::INTERNAL,
                             fmt::format("{} results for {} operations",
                                         results, sent_operations.size()));
        return;
      }
      for (size_t k = 0; k < sent_operations.size(); ++k) {
        const auto& result = response->results(static_cast<int>(k));
        Take(sent_operations[k],
             {result.errno_code(),
              result.has_open() ? result.open().handle() : 0});
      }
    }
    if (const auto finished = stream->Finish();
        !finished && !outcome_.failure) {
      outcome_.failure = finished.error();
    }
  }

  const vfsclient::Session& session_;
  const ReplayPlan& plan_;
  const ReplayOptions& options_;
  std::vector<uint64_t> handles_;  // by operation
  ReplayOutcome outcome_;
  Clock::time_point start_;
  double first_time_ = 0;
};

}  // namespace

std::expected<void, Error> PrepareTree(
    const vfsclient::Session& session, const std::string& root,
    const std::vector<TraceTree::Entry>& tree) {
  auto stream = session.OpenBatchStream();
  vfsclient::Batch batch;
  const auto send = [&]() -> std::expected<void, Error> {
    if (batch.size() == 0) return {};
    const auto response = stream->Run(&batch);
    batch.Clear();
    if (!response) return std::unexpected(response.error());
    for (const auto& result : response->results()) {
      if (result.errno_code() != 0) {
        return std::unexpected(Error::Errno(result.errno_code()));
      }
    }
    return {};
  };
  for (const TraceTree::Entry& entry : tree) {
    vfs::v1::BatchOperation operation;
    const std::string path = root + entry.path;
    if ((entry.mode & kFormat) == kDirectory) {
      auto* request = operation.mutable_make_directory();
      vfsclient::SetPath(path, request);
      request->set_mode(0777);
    } else if ((entry.mode & kFormat) == kSymlink) {
      auto* request = operation.mutable_make_symlink();
      vfsclient::SetPath(path, request);
      request->set_raw_target(
          entry.target.starts_with('/') ? root + entry.target : entry.target);
    } else {
      auto* request = operation.mutable_make_node();
      vfsclient::SetPath(path, request);
      request->set_mode(kRegular | (entry.mode & 07777));
    }
    batch.Add(operation);
    if (batch.size() < kPrepareBatch) continue;
    if (auto sent = send(); !sent) return sent;
  }
  if (auto sent = send(); !sent) return sent;
  return stream->Finish();
}

ReplayOutcome Replay(const vfsclient::Session& session, const ReplayPlan& plan,
                     const ReplayOptions& options) {
  return Replayer(session, plan, options).Run();
}

}  // namespace vfsload
