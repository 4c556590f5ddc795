// The service behind a real socket as a Runner: a whole server in this process,
// spoken to through the client library. Unary: a call a step. Batched: the
// steps of a program together, in messages whose operations refer to files that
// earlier ones of the same message open.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/lib/batch.h"
#include "client/lib/batch_stream.h"
#include "client/lib/session.h"
#include "server/main/instance.h"
#include "server/rpc/server.h"
#include "tests/differential/vfsd_runner.h"
#include "vfs/v1/admin.grpc.pb.h"

namespace vfsd::differential {

class ServiceRunner final : public VfsdRunner {
 public:
  enum class Calls { kUnary, kBatched };

  ServiceRunner(std::string name, Calls calls, const vfs::VfsOptions& options);
  ~ServiceRunner() override;

  vfs::Vfs& vfs() override { return instance_->vfs(); }
  bool RunsTogether() const override { return calls_ == Calls::kBatched; }
  std::vector<Outcome> RunAll(const Program& program,
                              std::span<const Outcome> kernel) override;

 protected:
  vfs::SessionRef OpenSession(const Program& program) override;
  std::string CloseSession() override;
  Outcome Execute(const Operation& operation, uint32_t actor) override;
  Outcome ChangeMounts(const Step& step) override;

 private:
  Outcome Call(const Operation& operation, uint32_t actor);
  // Appends to the message under way.
  void AddOperation(const Operation& operation, uint32_t actor);
  // Sends the message under way, and files its answers.
  void Flush(std::vector<Outcome>& outcomes);

  const Calls calls_;
  std::unique_ptr<Instance> instance_;
  std::unique_ptr<rpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<::vfs::v1::AdminService::Stub> admin_;

  // Of the program under way.
  std::optional<vfsclient::Session> session_;
  std::unique_ptr<vfsclient::BatchStream> stream_;
  std::vector<Actor> actors_;
  // Of the message under way. A handle that the message itself opens is known
  // by its operation's index + 1 until the answer is there; the server's own
  // handles are never that small.
  vfsclient::Batch batch_;
  // The step of each operation; none of the close of a number that is used
  // again.
  std::vector<std::optional<size_t>> steps_;
};

}  // namespace vfsd::differential
