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
  // What a namespace operation that is no API operation yet changes: the
  // directory of `path`'s last component, held open, and its name.
  template <typename Change>
  Outcome ChangeParent(const Step& step, const PathText& path, Change&& change);
  template <typename Change>
  Outcome ChangeInode(const Step& step, Change&& change);

  const std::string name_;
  vfs::Vfs vfs_;
  vfs::SessionTable sessions_;
  vfs::Executor executor_;

  // Of the program under way.
  vfs::Mount* mount_ = nullptr;
  vfs::SessionRef session_;
  std::vector<vfs::CredentialsRef> actors_;
  std::map<int, vfs::Handle> handles_;
};

}  // namespace vfsd::differential
