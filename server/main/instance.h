// Instance: a whole server but for its sockets: the core, its namespace, its
// sessions and what the service needs of them, in the order in which they
// depend on each other. The program has one; tests have one each.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/fs/proc/proc_file_system.h"
#include "server/fs/proc/session_entries.h"
#include "server/rpc/backend.h"
#include "server/rpc/credentials_policy.h"
#include "server/rpc/session_reaper.h"
#include "server/storage/import_spec.h"
#include "server/vfs/executor.h"
#include "server/vfs/session_table.h"
#include "server/vfs/vfs.h"

namespace vfsd {

struct InstanceOptions {
  // boot_epoch is drawn at random if it is 0.
  vfs::VfsOptions vfs{.boot_epoch = 0};
  vfs::SessionLimits sessions;
  rpc::ServiceLimits limits;
  rpc::CredentialsMode credentials = rpc::CredentialsMode::kTrust;
  // Null: nobody is served without credentials.
  vfs::CredentialsRef anonymous;
  std::vector<storage::ImportSpec> imports;
  // Snapshot files, likewise.
  std::vector<storage::ImportSpec> snapshots;
  // How often sessions are looked at for lapsed leases.
  absl::Duration reap_interval = absl::Seconds(1);
};

class Instance {
 public:
  // The error is a sentence for the command line.
  static std::expected<std::unique_ptr<Instance>, std::string> Create(
      const InstanceOptions& options);
  ~Instance();

  vfs::Vfs& vfs() { return vfs_; }
  vfs::Executor& executor() { return executor_; }
  vfs::SessionTable& sessions() { return sessions_; }
  rpc::Backend& backend() { return backend_; }

 private:
  Instance(const InstanceOptions& options,
           std::shared_ptr<vfs::FileSystem> top);

  vfs::Vfs vfs_;
  vfs::Executor executor_;
  const std::shared_ptr<proc::ProcFileSystem> proc_;
  proc::SessionEntries session_entries_;
  vfs::SessionTable sessions_;
  const rpc::CredentialsPolicy policy_;
  rpc::Backend backend_;
  std::unique_ptr<rpc::SessionReaper> reaper_;
};

}  // namespace vfsd
