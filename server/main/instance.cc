#include "server/main/instance.h"

#include <fmt/format.h>

#include <random>
#include <utility>

#include "server/base/build_info.h"
#include "server/fs/proc/core_files.h"
#include "server/fs/proc/statistics_text.h"
#include "server/main/namespace_setup.h"

namespace vfsd {
namespace {

// The boot epoch of handles: 1 to 255, another one at (nearly) every start.
vfs::VfsOptions WithBootEpoch(vfs::VfsOptions options) {
  if (options.boot_epoch == 0) {
    options.boot_epoch = static_cast<uint8_t>(std::random_device()() % 255 + 1);
  }
  return options;
}

uint64_t RandomBits() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

Instance::Instance(const InstanceOptions& options,
                   std::shared_ptr<vfs::FileSystem> top)
    : vfs_(WithBootEpoch(options.vfs), std::move(top)),
      executor_(vfs_),
      proc_(std::make_shared<proc::ProcFileSystem>(
          vfs_.fast_paths,
          proc::MakeCoreFiles(
              {.version = fmt::format(
                   "vfsd version {} ({}, {})", build_info::Version(),
                   build_info::Revision(), build_info::Compiler()),
               .started = absl::Now(),
               .statistics =
                   [this] {
                     return proc::StatisticsText(vfs_, executor_.counters(),
                                                 sessions_);
                   }},
              vfs_.mounts))),
      session_entries_(proc_),
      sessions_(vfs_, options.sessions),
      policy_(options.credentials, options.anonymous),
      backend_{.vfs = vfs_,
               .sessions = sessions_,
               .executor = executor_,
               .policy = policy_,
               .limits = options.limits,
               .boot_epoch = RandomBits(),
               .version = std::string(build_info::Version())} {
  sessions_.SetObserver(&session_entries_);
}

std::expected<std::unique_ptr<Instance>, std::string> Instance::Create(
    const InstanceOptions& options) {
  std::expected<std::vector<PlannedMount>, std::string> mounts =
      ImportTrees(options.imports, options.snapshots);
  if (!mounts.has_value()) return std::unexpected(mounts.error());
  std::unique_ptr<Instance> instance(
      new Instance(options, std::move(mounts->front().file_system)));
  mounts->erase(mounts->begin());
  mounts->push_back({instance->proc_, "/proc"});
  for (const PlannedMount& mount : *mounts) {
    if (std::expected<void, std::string> mounted =
            MountAt(instance->vfs_, mount);
        !mounted.has_value()) {
      return std::unexpected(mounted.error());
    }
  }
  // Now that the namespace is complete: a session's root is what is topmost at
  // its beginning.
  if (options.anonymous != nullptr)
    instance->sessions_.SetAnonymous(options.anonymous);
  instance->reaper_ = std::make_unique<rpc::SessionReaper>(
      instance->sessions_, options.reap_interval);
  return instance;
}

Instance::~Instance() = default;

}  // namespace vfsd
