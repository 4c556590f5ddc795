#include "server/fs/proc/session_entries.h"

#include <utility>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "server/fs/proc/sequence_file.h"
#include "spdlog/spdlog.h"

namespace vfsd::proc {

SessionEntries::SessionEntries(std::shared_ptr<ProcFileSystem> file_system)
    : file_system_(std::move(file_system)) {}

void SessionEntries::SessionOpened(const vfs::SessionRef& session) {
  const std::string name = fmt::format("{}", session->number());
  const EntryAttributes directory_attributes = {
      .permissions = 0555,
      .uid = session->credentials()->uid(),
      .gid = session->credentials()->gid(),
  };
  EntryAttributes status_attributes = directory_attributes;
  status_attributes.permissions = 0400;
  Result<ProcEntryRef> entry =
      file_system_->AddDirectory(nullptr, name, directory_attributes);
  if (entry.has_value()) {
    // Weak: a share would keep an ended session in memory for as long as
    // somebody has its status open.
    entry = file_system_->AddFile(
        *entry, "status", status_attributes,
        std::make_unique<SequenceFile>([weak = std::weak_ptr<vfs::Session>(
                                            session)]() -> Result<SharedText> {
          const vfs::SessionRef alive = weak.lock();
          if (alive == nullptr) return Fail(Errno::kEIO);
          return std::make_shared<const std::string>(SessionStatusText(*alive));
        }));
  }
  // The session works without: it is only not to be seen.
  if (!entry.has_value()) {
    spdlog::warn("proc: no entry for session {}: {}", name,
                 ErrnoName(entry.error()));
  }
}

void SessionEntries::SessionClosed(const vfs::Session& session) {
  const std::string name = fmt::format("{}", session.number());
  const Errno error = file_system_->RemoveSubtree(nullptr, name);
  if (error != Errno::kOk) {
    spdlog::warn("proc: cannot remove the entry of session {}: {}", name,
                 ErrnoName(error));
  }
}

std::string SessionStatusText(const vfs::Session& session) {
  const vfs::Credentials& credentials = *session.credentials();
  return fmt::format(
      "Name:\t{}\n"
      "Session:\t{}\n"
      "Uid:\t{}\n"
      "Gid:\t{}\n"
      "Groups:\t{}\n"
      "Umask:\t{:04o}\n"
      "Handles:\t{}\n"
      "HandlesLimit:\t{}\n"
      "LeaseMilliseconds:\t{}\n"
      "OpenedSeconds:\t{}\n"
      "ErrorsInBand:\t{}\n",
      session.client_name(), session.number(), credentials.uid(),
      credentials.gid(), fmt::join(credentials.groups(), " "), session.umask(),
      session.files().open_handles(), session.files().max_handles(),
      absl::ToInt64Milliseconds(session.lease()),
      absl::ToUnixSeconds(session.opened()), session.errors_in_band() ? 1 : 0);
}

}  // namespace vfsd::proc
