#include "server/vfs/executor.h"

#include <chrono>
#include <type_traits>
#include <utility>

#include "server/vfs/access.h"
#include "server/vfs/attribute_change.h"
#include "server/vfs/directory_reader.h"
#include "server/vfs/file.h"
#include "server/vfs/make_name.h"
#include "server/vfs/open.h"
#include "server/vfs/read.h"
#include "server/vfs/read_link.h"
#include "server/vfs/rename.h"
#include "server/vfs/session.h"
#include "server/vfs/stat.h"
#include "server/vfs/stat_file_system.h"
#include "server/vfs/unlink.h"
#include "server/vfs/vfs.h"

namespace vfsd::vfs {
namespace {

uint64_t Nanoseconds(std::chrono::steady_clock::duration duration) {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

}  // namespace

Caller::Caller(Session& on_session)
    : session(on_session), credentials(on_session.credentials()) {}

// What every operation ends with, whatever it is: the files that it closed are
// ended (before the answer can leave), and it is counted.
template <typename Operation, typename Run>
Result<typename Operation::Result> Executor::Finish(const Operation&,
                                                    Run&& run) {
  const bool sample = counters_.Sample(Operation::kKind);
  std::chrono::steady_clock::time_point begin;
  if (sample) begin = std::chrono::steady_clock::now();
  Result<typename Operation::Result> result = run();
  FileAccounting::DrainDeferred();
  if (sample) {
    counters_.Observe(Operation::kKind,
                      Nanoseconds(std::chrono::steady_clock::now() - begin));
  }
  counters_.Count(Operation::kKind,
                  result.has_value() ? Errno::kOk : result.error());
  return result;
}

// For operations that may carry a request id: a retry gets the first answer.
template <typename Operation, typename Run>
Result<typename Operation::Result> Executor::FinishOnce(
    const Caller& caller, const Operation& operation, Run&& run) {
  using Value = typename Operation::Result;
  if (operation.request_id == 0)
    return Finish(operation, std::forward<Run>(run));
  RecentAnswers& answers = caller.session.recent_answers();
  const std::optional<RecentAnswers::Answer> earlier =
      answers.Begin(operation.request_id);
  if (earlier.has_value()) {
    // The id of another kind of request: the client's mistake.
    if (earlier->kind != Operation::kKind) return Fail(Errno::kEINVAL);
    if (earlier->error != Errno::kOk) return Fail(earlier->error);
    if constexpr (std::is_same_v<Value, Handle>) {
      return earlier->handle;
    } else {
      return Value();
    }
  }
  Result<Value> result = Finish(operation, std::forward<Run>(run));
  RecentAnswers::Answer answer{
      Operation::kKind, result.has_value() ? Errno::kOk : result.error(), 0};
  if constexpr (std::is_same_v<Value, Handle>)
    answer.handle = result.value_or(0);
  answers.Remember(operation.request_id, answer);
  return result;
}

Result<Handle> Executor::Execute(const Caller& caller,
                                 const OpenOperation& operation) {
  return FinishOnce(caller, operation,
                    [&] { return FileOpener(vfs_, caller).Run(operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const CloseOperation& operation) {
  return Finish(operation, [&]() -> Result<Done> {
    const Errno error = caller.session.files().Close(operation.handle);
    if (error != Errno::kOk) return Fail(error);
    return Done();
  });
}

Result<Statx> Executor::Execute(const Caller& caller,
                                const StatOperation& operation) {
  return Finish(operation, [&] { return StatFile(vfs_, caller, operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const AccessOperation& operation) {
  return Finish(operation,
                [&] { return CheckAccess(vfs_, caller, operation); });
}

Result<size_t> Executor::Execute(const Caller& caller,
                                 const ReadOperation& operation) {
  return Finish(operation, [&] { return ReadFile(vfs_, caller, operation); });
}

Result<DirectoryPage> Executor::Execute(
    const Caller& caller, const ReadDirectoryOperation& operation) {
  return Finish(operation,
                [&] { return ReadDirectory(vfs_, caller, operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const MakeDirectoryOperation& operation) {
  return FinishOnce(caller, operation,
                    [&] { return MakeDirectory(vfs_, caller, operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const UnlinkOperation& operation) {
  return FinishOnce(caller, operation,
                    [&] { return Unlink(vfs_, caller, operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const RenameOperation& operation) {
  return FinishOnce(caller, operation,
                    [&] { return Rename(vfs_, caller, operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const MakeNodeOperation& operation) {
  return FinishOnce(caller, operation,
                    [&] { return MakeNode(vfs_, caller, operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const MakeSymlinkOperation& operation) {
  return FinishOnce(caller, operation,
                    [&] { return MakeSymlink(vfs_, caller, operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const MakeLinkOperation& operation) {
  return FinishOnce(caller, operation,
                    [&] { return MakeLink(vfs_, caller, operation); });
}

Result<std::string> Executor::Execute(const Caller& caller,
                                      const ReadLinkOperation& operation) {
  return Finish(operation, [&] { return ReadLink(vfs_, caller, operation); });
}

Result<Done> Executor::Execute(const Caller& caller,
                               const SetAttributesOperation& operation) {
  return FinishOnce(caller, operation,
                    [&] { return SetAttributes(vfs_, caller, operation); });
}

Result<Statfs> Executor::Execute(const Caller& caller,
                                 const StatFilesystemOperation& operation) {
  return Finish(operation,
                [&] { return StatFilesystem(vfs_, caller, operation); });
}

}  // namespace vfsd::vfs
