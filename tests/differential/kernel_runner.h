// The local kernel as a Runner: real system calls under real user ids, on a
// private tmpfs (or ramfs) in a mount namespace of its own, with that file
// system as root and working directory.
//
// The system calls are made on threads of its own (ActorThread), one for each
// user: mounts, root, working directory, umask and descriptors are these
// threads' and nobody else's, and a user's credentials are the same from a
// program's begin to its end, as a process's are that does not change them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/differential/actor_thread.h"
#include "tests/differential/differences.h"
#include "tests/differential/runner.h"

namespace vfsd::differential {

class KernelRunner final : public Runner {
 public:
  // Not empty `reason`: this machine does not let us. differences: counts what
  // is answered by a rule; outlives the runner.
  static std::unique_ptr<KernelRunner> Make(Differences& differences,
                                            std::string& reason);
  ~KernelRunner() override;

  std::string_view name() const override { return "kernel"; }
  void Begin(const Program& program) override;
  Outcome Run(const Step& step) override;
  Listing List() override;
  std::string End() override;

 private:
  explicit KernelRunner(Differences& differences)
      : differences_(differences), root_(std::make_unique<ActorThread>()) {}

  // On root's thread.
  std::string Enter();
  void BeginAsRoot(const Program& program);
  void EndAsRoot();
  // The thread of that user, which is root's for root.
  ActorThread& ThreadOf(const Actor& actor);

  // On the actor's thread.
  Outcome RunAsActor(const Step& step);
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
  // Opens, and says by errno what came of it. Never waits.
  long OpenNow(const Step& step, uint64_t extra_flags) const;
  // The other end of the fifo at the step's path, for as long as it is open; -1
  // if there is no fifo.
  int OpenOtherEnd(const Step& step);
  Outcome Close(const Step& step);
  Outcome Stat(const Step& step);
  Outcome Read(const Step& step);
  Outcome ReadDirectory(const Step& step);
  // One system call's worth of them.
  Outcome SetAttributes(const Step& step);
  // Several.
  Outcome SetAllAttributes(const Step& step);
  Outcome StatFileSystem(const Step& step);
  Outcome Mount(const Step& step);
  // Without links and dots; empty if it leads nowhere.
  std::string PlainPath(const char* path) const;
  void ListBelow(int directory, const std::string& path, Listing& listing);

  Differences& differences_;
  const std::unique_ptr<ActorThread> root_;
  // Started by root's, from which they have all but their credentials.
  std::map<Actor, std::unique_ptr<ActorThread>> others_;
  int outer_root_ = -1;
  int proc_ = -1;
  std::string mountpoint_;
  std::vector<Actor> actors_;
  std::map<int, int> descriptors_;
  Oracle oracle_ = Oracle::kTmpfs;
  uint64_t descriptor_limit_ = 0;
};

}  // namespace vfsd::differential
