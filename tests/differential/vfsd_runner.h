// What all runners of vfsd share: a Vfs in this process that the namespace of
// each program is mounted in, the program's session there, and how a step
// becomes operations. How an operation reaches the core is the derived
// runner's.
#pragma once

#include <string>

#include "server/vfs/session.h"
#include "server/vfs/vfs.h"
#include "tests/differential/runner.h"
#include "tests/differential/step_operation.h"

namespace vfsd::differential {

class VfsdRunner : public Runner {
 public:
  explicit VfsdRunner(std::string name) : name_(std::move(name)) {}

  std::string_view name() const final { return name_; }
  void Begin(const Program& program) final;
  Outcome Run(const Step& step) final;
  Listing List() final;
  std::string End() final;

  virtual vfs::Vfs& vfs() = 0;

 protected:
  // A session whose root is what is topmost at "/".
  virtual vfs::SessionRef OpenSession(const Program& program) = 0;
  // Its handles are closed. Not empty: what went wrong.
  virtual std::string CloseSession() = 0;
  // Under the credentials of the program's actor.
  virtual Outcome Execute(const Operation& operation, uint32_t actor) = 0;
  // What is no operation: mount, bind, umount, remount.
  virtual Outcome ChangeMounts(const Step& step) = 0;

  Operation OperationOf(const Step& step);
  HandleNumbers& handles() { return handles_; }
  // ramfs: what the program mounts has no O_DIRECT.
  bool no_direct_io() const { return no_direct_io_; }

 private:
  const std::string name_;
  // Of the program under way.
  bool no_direct_io_ = false;
  vfs::SessionRef session_;
  HandleNumbers handles_;
  // The mounts that were there before the program's.
  size_t mounts_before_ = 0;
  std::string read_buffer_;
};

}  // namespace vfsd::differential
