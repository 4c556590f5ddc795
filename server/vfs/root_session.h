// RootSession: a session of the server's own, with root's rights and no handles
// of its own to keep: for what the administrator asks to be done in the
// namespace (mounts, imports), which no client's session stands for.
//
// On one thread, for one task.
#pragma once

#include <memory>

#include "server/vfs/session.h"

namespace vfsd::vfs {

class RootSession {
 public:
  explicit RootSession(Vfs& vfs)
      : session_(vfs, 0, 0, Options(), 0, LeaseClock::now()) {}
  RootSession(const RootSession&) = delete;
  RootSession& operator=(const RootSession&) = delete;

  Session& session() { return session_; }

 private:
  static SessionOptions Options() {
    SessionOptions options;
    options.credentials = std::make_shared<const Credentials>(0, 0);
    return options;
  }

  Session session_;
};

}  // namespace vfsd::vfs
