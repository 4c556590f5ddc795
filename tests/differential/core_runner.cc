#include "tests/differential/core_runner.h"

#include <memory>
#include <utility>

#include "server/fs/mem/mem_file_system.h"
#include "server/vfs/mount_at.h"

namespace vfsd::differential {
namespace {

// What a success says, by its type.
void Fill(vfs::Done, Outcome&) {}
void Fill(vfs::Handle handle, Outcome& outcome) { outcome.handle = handle; }
void Fill(const vfs::Statx& statx, Outcome& outcome) { outcome.statx = statx; }
void Fill(const std::string& target, Outcome& outcome) {
  outcome.text = target;
}
void Fill(const vfs::Statfs& statfs, Outcome& outcome) {
  outcome.statfs = {statfs.type, statfs.block_size, statfs.name_max,
                    statfs.flags};
}

}  // namespace

CoreRunner::CoreRunner(std::string name, const vfs::VfsOptions& options)
    : VfsdRunner(std::move(name)),
      vfs_(options, std::make_shared<mem::MemFileSystem>()),
      sessions_(vfs_, vfs::SessionLimits{}),
      executor_(vfs_) {}

vfs::SessionRef CoreRunner::OpenSession(const Program& program) {
  actors_.clear();
  for (const Actor& actor : program.actors) {
    actors_.push_back(std::make_shared<const vfs::Credentials>(
        actor.uid, actor.gid, actor.groups));
  }
  vfs::SessionOptions options;
  options.credentials = actors_.front();
  options.umask = program.umask;
  options.lease = absl::Hours(1);
  session_ = *sessions_.Open(std::move(options));
  return session_;
}

std::string CoreRunner::CloseSession() {
  sessions_.Close(session_->id(), nullptr);
  session_.reset();
  actors_.clear();
  return "";
}

Outcome CoreRunner::Execute(const Operation& operation, uint32_t actor) {
  const vfs::Caller caller(*session_, actors_[actor]);
  return std::visit(
      [&](const auto& op) {
        using T = std::decay_t<decltype(op)>;
        const auto result = executor_.Execute(caller, op);
        Outcome outcome;
        if (!result.has_value()) {
          outcome.error = static_cast<int32_t>(result.error());
        } else if constexpr (std::is_same_v<T, vfs::ReadOperation>) {
          outcome.count = static_cast<int64_t>(*result);
        } else if constexpr (std::is_same_v<T, vfs::ReadDirectoryOperation>) {
          for (const vfs::DirectoryEntry& entry : result->entries) {
            ListedEntry& listed = outcome.entries.emplace_back(
                ListedEntry{entry.name, entry.ino, entry.type, {}});
            if (op.with_attributes) listed.attributes = entry.attributes;
          }
          outcome.next_cursor = result->next_cursor;
        } else {
          Fill(*result, outcome);
        }
        return outcome;
      },
      operation);
}

Outcome CoreRunner::ChangeMounts(const Step& step) {
  Outcome outcome;
  const auto set = [&outcome](Errno error) {
    outcome.error = static_cast<int32_t>(error);
  };
  // The core is asked with paths that are there: NULL is the service's matter.
  if (!step.path.has_value() ||
      (step.kind == Kind::kBind && !step.path2.has_value())) {
    set(Errno::kEFAULT);
    return outcome;
  }
  const bool bit = step.flags != 0;  // the only one of each kind
  const vfs::MountOptions options{.read_only = bit,
                                  .no_direct_io = no_direct_io()};
  switch (step.kind) {
    case Kind::kMount:
      set(vfs::MountAt(vfs_, *step.path, std::make_shared<mem::MemFileSystem>(),
                       options));
      break;
    case Kind::kBind:
      set(vfs::BindAt(vfs_, *step.path2, *step.path, options));
      break;
    case Kind::kRemount:
      set(vfs::RemountAt(vfs_, *step.path, bit));
      break;
    default:
      set(vfs::UnmountAt(vfs_, *step.path, /*lazy=*/bit));
      break;
  }
  return outcome;
}

}  // namespace vfsd::differential
