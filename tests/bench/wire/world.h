// World: the servers of a comparison (vfsd, the echo service), the files that
// all of them have, the core in this process, and the client's session.
//
// Made once, while the process has one thread: it moves into a directory of its
// own (KernelWorld).
#pragma once

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "client/lib/session.h"
#include "tests/bench/core/core_world.h"
#include "tests/bench/core/kernel_world.h"
#include "tests/bench/wire/process.h"
#include "tests/bench/wire/scenario.h"

namespace wirebench {

inline constexpr size_t kFiles = 1000;
inline constexpr size_t kConnections = 4;

// The program ends if there is no connection.
std::shared_ptr<grpc::Channel> Connect(const std::string& address);
// kConnections of them.
std::vector<std::shared_ptr<grpc::Channel>> ConnectSome(
    const std::string& address);

struct World {
  // bin: the folder with vfsd and wire_echo_server.
  explicit World(const std::string& bin);

  // Waits until a file is there; the program ends if it never is.
  static void WaitForFile(const std::string& path, const char* whose);

  corebench::KernelWorld kernel;
  const std::string scratch;  // an absolute path, for sockets and the like
  const WireFiles files;
  corebench::CoreWorld core;
  std::unique_ptr<Process> echo;
  std::unique_ptr<Process> vfsd;
  std::string echo_tcp;
  std::string echo_unix;
  std::string vfsd_tcp;
  std::string vfsd_unix;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<vfsclient::Session> session;
};

}  // namespace wirebench
