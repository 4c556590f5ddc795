// The core in this process as a Runner.
#pragma once

#include <string>
#include <vector>

#include "server/vfs/executor.h"
#include "server/vfs/session_table.h"
#include "tests/differential/vfsd_runner.h"

namespace vfsd::differential {

class CoreRunner final : public VfsdRunner {
 public:
  // options: with the fast paths, the kind of walk, and the host's
  // fs.protected_* to run with.
  CoreRunner(std::string name, const vfs::VfsOptions& options);

  vfs::Vfs& vfs() override { return vfs_; }

 protected:
  vfs::SessionRef OpenSession(const Program& program) override;
  std::string CloseSession() override;
  Outcome Execute(const Operation& operation, uint32_t actor) override;
  Outcome ChangeMounts(const Step& step) override;

 private:
  vfs::Vfs vfs_;
  vfs::SessionTable sessions_;
  vfs::Executor executor_;
  // Of the program under way.
  vfs::SessionRef session_;
  std::vector<vfs::CredentialsRef> actors_;
};

}  // namespace vfsd::differential
