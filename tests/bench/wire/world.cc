#include "tests/bench/wire/world.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "client/lib/channel.h"
#include "tests/bench/core/tree_shape.h"

namespace wirebench {
namespace {

WireFiles MakeFileNames() {
  WireFiles files;
  for (uint64_t i = 0; i < kFiles; ++i) {
    files.there.push_back(corebench::TreeShape::FilePath(i));
    files.missing.push_back(files.there.back() + ".no");
  }
  return files;
}

// In the directory that KernelWorld moved into.
std::string MakeScratch() {
  std::filesystem::create_directories("run");
  return (std::filesystem::current_path() / "run").string();
}

vfsclient::Session StartSession(const std::shared_ptr<grpc::Channel>& on) {
  vfsclient::SessionOptions options;
  options.credentials.emplace().set_uid(0);
  auto session = vfsclient::Session::Start(on, std::move(options));
  if (!session.has_value()) Die(session.error().Text());
  return *std::move(session);
}

}  // namespace

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  const auto parsed = vfsclient::Address::Parse(address);
  const auto channel = vfsclient::Connect(*parsed, std::chrono::seconds(10));
  if (!channel.has_value()) Die(address + ": " + channel.error().Text());
  return *channel;
}

std::vector<std::shared_ptr<grpc::Channel>> ConnectSome(
    const std::string& address) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (size_t i = 0; i < kConnections; ++i)
    channels.push_back(Connect(address));
  return channels;
}

World::World(const std::string& bin)
    : scratch(MakeScratch()),
      files(MakeFileNames()),
      core(kernel.version(), 1) {
  kernel.GrowTree(kFiles);
  core.GrowTree(0, kFiles);
  echo_unix = "unix:" + scratch + "/echo";
  echo = std::make_unique<Process>(
      std::vector<std::string>{bin + "/wire_echo_server", echo_unix});
  echo_tcp = echo->ReadLine();
  const std::string ready = scratch + "/ready";
  const std::string tree = std::filesystem::current_path().string() + "/tree";
  vfsd = std::make_unique<Process>(std::vector<std::string>{
      bin + "/vfsd", "--listen", "127.0.0.1:0", "--listen",
      "unix:" + scratch + "/vfsd", "--metrics", "off", "--import",
      tree + ":/tree", "--ready-file", ready, "--log-level", "warn"});
  WaitForFile(ready, "vfsd");
  std::ifstream file(ready);
  const auto listen = nlohmann::json::parse(file)["listen"];
  vfsd_tcp = listen[0];
  vfsd_unix = listen[1];
  channel = Connect(vfsd_tcp);
  session = std::make_unique<vfsclient::Session>(StartSession(channel));
}

void World::WaitForFile(const std::string& path, const char* whose) {
  for (int i = 0; i < 2000; ++i) {
    if (std::filesystem::exists(path)) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  Die(std::string(whose) + " did not start");
}

}  // namespace wirebench
