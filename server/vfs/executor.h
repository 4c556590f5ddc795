// The one way into the core: Operation in, Result out. What the system call
// layer is to the kernel: resolves the handles of an operation in the caller's
// session, runs it, drains the files that it closed, and counts it.
//
// Thread safety: one Executor serves all threads. Execute may wait for a lock
// that another operation holds for a moment, and for a synthetic file's
// provider; it must not be called in an RCU read section.
#pragma once

#include <array>
#include <cstdint>

#include "server/base/errno.h"
#include "server/base/result.h"
#include "server/vfs/credentials.h"
#include "server/vfs/operation.h"
#include "server/vfs/operation_counters.h"

namespace vfsd::vfs {

class Session;
class Vfs;

// On whose behalf an operation runs. The session's own credentials unless the
// request overrides them.
struct Caller {
  explicit Caller(Session& on_session);
  Caller(Session& on_session, CredentialsRef as)
      : session(on_session), credentials(std::move(as)) {}

  Session& session;
  CredentialsRef credentials;
};

class Executor {
 public:
  explicit Executor(Vfs& vfs) : vfs_(vfs) {}

  Result<Handle> Execute(const Caller& caller, const OpenOperation& operation);
  Result<Done> Execute(const Caller& caller, const CloseOperation& operation);
  Result<Statx> Execute(const Caller& caller, const StatOperation& operation);
  Result<Done> Execute(const Caller& caller, const AccessOperation& operation);
  Result<size_t> Execute(const Caller& caller, const ReadOperation& operation);
  Result<DirectoryPage> Execute(const Caller& caller,
                                const ReadDirectoryOperation& operation);
  Result<Done> Execute(const Caller& caller,
                       const MakeDirectoryOperation& operation);
  Result<Done> Execute(const Caller& caller, const UnlinkOperation& operation);
  Result<Done> Execute(const Caller& caller, const RenameOperation& operation);
  Result<Done> Execute(const Caller& caller,
                       const MakeNodeOperation& operation);
  Result<Done> Execute(const Caller& caller,
                       const MakeSymlinkOperation& operation);
  Result<Done> Execute(const Caller& caller,
                       const MakeLinkOperation& operation);
  Result<std::string> Execute(const Caller& caller,
                              const ReadLinkOperation& operation);
  Result<Done> Execute(const Caller& caller,
                       const SetAttributesOperation& operation);
  Result<Statfs> Execute(const Caller& caller,
                         const StatFilesystemOperation& operation);

  // Operations that ended, by kind and result.
  const OperationCounters& counters() const { return counters_; }

 private:
  template <typename Operation, typename Run>
  Result<typename Operation::Result> Finish(const Operation& operation,
                                            Run&& run);
  template <typename Operation, typename Run>
  Result<typename Operation::Result> FinishOnce(const Caller& caller,
                                                const Operation& operation,
                                                Run&& run);

  Vfs& vfs_;
  OperationCounters counters_;
};

}  // namespace vfsd::vfs
