#include "server/rpc/batch_runner.h"

#include <type_traits>
#include <variant>

#include "server/rpc/operation_runner.h"
#include "server/rpc/response_encoder.h"

namespace vfsd::rpc {

Outcome<size_t> BatchRunner::Run(std::string_view message, uint64_t& session,
                                 WireWriter& writer) {
  if (message.size() > backend_.limits.max_message_bytes) {
    return std::unexpected(Reason::kBatchTooLarge);
  }
  decoder_.Clear();
  switch (decoder_.DecodeBatch(message, backend_.limits.max_batch_operations,
                               batch_)) {
    case RequestDecoder::Outcome::kOk:
      break;
    case RequestDecoder::Outcome::kMalformed:
      return std::unexpected(Reason::kMalformedRequest);
    case RequestDecoder::Outcome::kTooManyOperations:
      return std::unexpected(Reason::kBatchTooLarge);
  }
  if (session == 0) session = batch_.session;
  const Outcome<vfs::SessionRef> found = backend_.FindSession(session, false);
  if (!found.has_value()) return std::unexpected(found.error());
  if (Outcome<void> resolved = ResolveCredentials(); !resolved.has_value()) {
    return std::unexpected(resolved.error());
  }

  const vfs::Caller caller(**found);
  opened_.assign(batch_.operations.size(), 0);
  bool stopped = false;
  for (size_t i = 0; i < batch_.operations.size(); ++i) {
    const Errno error = stopped
                            ? Errno::kECANCELED
                            : std::visit(
                                  [&](auto& request) {
                                    return RunOne(caller, request, i, writer);
                                  },
                                  batch_.operations[i]);
    if (error == Errno::kOk) continue;
    EncodeBatchErrno(writer, error);
    stopped = batch_.stop_on_error;
  }
  size_t count = batch_.operations.size();
  if (!batch_.groups.empty()) {
    columns_.Run(caller, batch_.groups, batch_.stop_on_error, stopped, writer);
    for (const ColumnGroup& group : batch_.groups) count += group.count;
  }
  return count;
}

Outcome<void> BatchRunner::ResolveCredentials() {
  credentials_.clear();
  for (const ClaimedCredentials& claimed : decoder_.credentials()) {
    Outcome<vfs::CredentialsRef> credentials = backend_.policy.Claim(claimed);
    if (credentials.has_value()) {
      credentials_.push_back(*std::move(credentials));
    } else if (credentials.error().is_errno()) {
      // That operation's own error, told when its turn comes.
      credentials_.push_back(nullptr);
    } else {
      return std::unexpected(credentials.error());
    }
  }
  return {};
}

size_t BatchRunner::Room(const WireWriter& writer) const {
  const size_t limit = backend_.limits.max_message_bytes;
  return writer.size() < limit ? limit - writer.size() : 0;
}

Errno BatchRunner::RunOne(const vfs::Caller&, std::monostate, size_t,
                          WireWriter&) {
  return Errno::kEINVAL;
}

template <typename Operation>
Errno BatchRunner::RunOne(const vfs::Caller& caller,
                          OperationRequest<Operation>& request, size_t index,
                          WireWriter& writer) {
  const bool resolved =
      ForEachReference(request, [&](uint32_t reference, auto& handle) {
        if (reference >= index || opened_[reference] == 0) return false;
        handle = opened_[reference];
        return true;
      });
  if (!resolved) return Errno::kECANCELED;

  const auto run = [&](const vfs::Caller& as) {
    return RunOperation<BatchFrame<Operation>>(
        backend_.executor, as, request, Room(writer), writer,
        [&](const auto& result) {
          if constexpr (std::is_same_v<Operation, vfs::OpenOperation>)
            opened_[index] = result;
        });
  };
  if (request.credentials < 0) return run(caller);
  const vfs::CredentialsRef& credentials =
      credentials_[static_cast<size_t>(request.credentials)];
  if (credentials == nullptr) return Errno::kEINVAL;
  return run(vfs::Caller(caller.session, credentials));
}

}  // namespace vfsd::rpc
