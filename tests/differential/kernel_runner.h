// The local kernel as a Runner: real system calls under real user ids, on a
// private tmpfs (or ramfs) in a mount namespace of its own, with that file
// system as root and working directory.
//
// Lives on one thread: credentials, root and working directory are changed for
// the thread that calls, by raw system calls (glibc would change them for all
// threads), and are back at what they were whenever no program is under way.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/differential/runner.h"

namespace vfsd::differential {

class KernelRunner final : public Runner {
 public:
  // Enters a mount namespace. Not empty `reason`: this machine does not let us.
  static std::unique_ptr<KernelRunner> Make(std::string& reason);
  ~KernelRunner() override;

  std::string_view name() const override { return "kernel"; }
  void Begin(const Program& program) override;
  Outcome Run(const Step& step) override;
  Listing List() override;
  std::string End() override;

 private:
  explicit KernelRunner(int outer_root, std::string mountpoint)
      : outer_root_(outer_root), mountpoint_(std::move(mountpoint)) {}

  void Become(const Actor& actor);
  // The descriptor of a step's handle; a number that is not open if there is
  // none.
  int Descriptor(int handle) const;
  // The descriptor of where a path starts.
  int Directory(int handle) const;
  // Allows as many descriptors as the program may hold.
  void LimitDescriptors();
  // Lets the runner's own calls have descriptors meanwhile.
  void LiftDescriptorLimit();

  Outcome Open(const Step& step);
  Outcome Close(const Step& step);
  Outcome Stat(const Step& step);
  Outcome Read(const Step& step);
  Outcome ReadDirectory(const Step& step);
  Outcome SetAttributes(const Step& step);
  Outcome StatFileSystem(const Step& step);
  Outcome Mount(const Step& step);
  void ListBelow(int directory, const std::string& path, Listing& listing);

  const int outer_root_;
  const std::string mountpoint_;
  std::vector<Actor> actors_;
  uint32_t current_actor_ = 0;
  std::map<int, int> descriptors_;
  Oracle oracle_ = Oracle::kTmpfs;
  uint64_t descriptor_limit_ = 0;
};

}  // namespace vfsd::differential
