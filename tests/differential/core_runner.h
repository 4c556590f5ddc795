// The core in this process as a Runner.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/vfs/executor.h"
#include "server/vfs/session_table.h"
#include "server/vfs/vfs.h"
#include "tests/differential/runner.h"

namespace vfsd::differential {

class CoreRunner final : public Runner {
 public:
  // options: with the fast paths, the kind of walk, and the host's
  // fs.protected_* to run with.
  CoreRunner(std::string name, const vfs::VfsOptions& options);
  ~CoreRunner() override;

  std::string_view name() const override { return name_; }
  void Begin(const Program& program) override;
  Outcome Run(const Step& step) override;
  Listing List() override;
  std::string End() override;

  const vfs::Vfs& vfs() const { return vfs_; }

 private:
  vfs::DirectoryArgument Directory(int handle) const;
  vfs::Handle Handle(int handle) const;
  Outcome Open(const vfs::Caller& caller, const Step& step);
  Outcome Stat(const vfs::Caller& caller, const Step& step);
  Outcome Read(const vfs::Caller& caller, const Step& step);
  Outcome ReadDirectory(const vfs::Caller& caller, const Step& step);
  Outcome SetAttributes(const vfs::Caller& caller, const Step& step);
  Outcome StatFileSystem(const vfs::Caller& caller, const Step& step);
  // What is no operation of the executor's: mount, umount, remount.
  Outcome ChangeMounts(const Step& step);
  void Become(uint32_t actor);

  const std::string name_;
  vfs::Vfs vfs_;
  vfs::SessionTable sessions_;
  vfs::Executor executor_;

  // Of the program under way.
  vfs::SessionRef session_;
  std::vector<Actor> actors_;
  uint32_t current_actor_ = 0;
  // Made anew with each change of the actor, as a process's are by setresuid:
  // some rules ask for the very credentials that opened a file.
  vfs::CredentialsRef credentials_;
  // In the order of mounting, the program's root first.
  std::vector<vfs::Mount*> mounts_;
  Oracle oracle_ = Oracle::kTmpfs;
  std::map<int, vfs::Handle> handles_;
};

}  // namespace vfsd::differential
