// CoreWorld: the core as a server has it, without gRPC: a mem file system at
// the root, proc at /proc, an executor, and a session a worker.
//
// Made and changed by the main thread while no worker runs; the loops it gives
// run on workers and must not outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/vfs/executor.h"
#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "tests/bench/core/loop.h"
#include "tests/bench/core/scenario.h"

namespace corebench {

class CoreWorld {
 public:
  // version: the content of /proc/version. root: what is at "/"; null for an
  // empty mem file system.
  CoreWorld(std::string_view version, size_t workers,
            std::shared_ptr<vfsd::vfs::FileSystem> root = nullptr);
  ~CoreWorld();

  vfsd::vfs::Vfs& vfs() { return *vfs_; }
  vfsd::vfs::FileSystem& root_file_system() { return *root_; }
  vfsd::vfs::Executor& executor() { return *executor_; }
  const vfsd::vfs::Caller& caller(size_t worker) const {
    return *callers_[worker];
  }

  // Relative paths, with all directories in front. The program ends if that
  // does not work.
  void MakeDirectories(std::string_view path);
  void MakeFile(std::string_view path);
  // Files `begin` to `end` of TreeShape. `each` is called after every mutation,
  // if set.
  void GrowTree(uint64_t begin, uint64_t end,
                const std::function<void()>& each = {});

  // What the scenarios use must have been made (MakeHotFiles).
  void MakeHotFiles();
  Loop MakeLoop(Scenario scenario, size_t worker);
  // Stats paths one after the other, over and over. `paths` outlives the loop.
  Loop StatPaths(const std::vector<std::string>& paths, size_t worker);

 private:
  vfsd::vfs::Handle Open(std::string_view path, size_t worker);
  vfsd::vfs::Statx Stat(std::string_view path, size_t worker);

  const std::string version_;
  std::shared_ptr<vfsd::vfs::FileSystem> root_;
  std::unique_ptr<vfsd::vfs::Vfs> vfs_;
  std::unique_ptr<vfsd::vfs::Executor> executor_;
  std::vector<std::unique_ptr<vfsd::vfs::Session>> sessions_;
  std::vector<std::unique_ptr<vfsd::vfs::Caller>> callers_;
};

}  // namespace corebench
