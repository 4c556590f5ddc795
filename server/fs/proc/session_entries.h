// SessionEntries: a directory a session in the proc file system, named by the
// session's public number, with a file "status" that its owner can read. Made
// when the session opens, removed when it ends. The session's id, which is its
// secret, is never told.
//
// status has "Name:\tvalue" lines as /proc/pid/status: Name (the client's),
// Session, Uid, Gid, Groups, Umask, Handles, HandlesLimit, LeaseMilliseconds,
// OpenedSeconds (when, in seconds since the epoch), ErrorsInBand.
//
// Owned by whoever wires the server; outlives the SessionTable that it observes
// and not the file system. Thread safe.
#pragma once

#include <memory>
#include <string>

#include "server/fs/proc/proc_file_system.h"
#include "server/vfs/session.h"
#include "server/vfs/session_table.h"

namespace vfsd::proc {

class SessionEntries final : public vfs::SessionObserver {
 public:
  explicit SessionEntries(std::shared_ptr<ProcFileSystem> file_system);

  void SessionOpened(const vfs::SessionRef& session) override;
  void SessionClosed(const vfs::Session& session) override;

 private:
  const std::shared_ptr<ProcFileSystem> file_system_;
};

// The content of a session's status.
std::string SessionStatusText(const vfs::Session& session);

}  // namespace vfsd::proc
