#include "client/ctl/info_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "client/ctl/fast_paths_command.h"

namespace vfsctl {
namespace {

using nlohmann::ordered_json;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(std::move(line));
  }
  return lines;
}

// Lines of "name value" become fields; of others the whole line is kept.
ordered_json Fields(const std::string& text) {
  ordered_json fields = ordered_json::object();
  for (const std::string& line : Lines(text)) {
    const size_t gap = line.find_first_of(" \t:");
    const size_t value =
        gap == std::string::npos ? gap : line.find_first_not_of(" \t:", gap);
    if (value == std::string::npos) {
      fields[line] = "";
    } else {
      fields[line.substr(0, gap)] = line.substr(value);
    }
  }
  return fields;
}

void Print(const ordered_json& info) {
  const auto& limits = info["limits"];
  fmt::print("server        vfsd {}\n", info["version"].get<std::string>());
  fmt::print("address       {}\n", info["target"].get<std::string>());
  fmt::print("boot epoch    {}\n", info["boot_epoch"].get<std::string>());
  if (info.contains("uptime")) {
    fmt::print("uptime        {} s\n", info["uptime"].get<std::string>());
  }
  fmt::print("lease         {} ms\n", limits["lease_milliseconds"].dump());
  fmt::print(
      "limits        {} handles a session, {} operations a batch, "
      "{} bytes a message, {} answers remembered\n",
      limits["handles"].dump(), limits["batch_operations"].dump(),
      limits["message_bytes"].dump(), limits["remembered_answers"].dump());
  fmt::print("fast paths\n");
  if (info["fast_paths"].is_string()) {
    fmt::print("  not available: {}\n", info["fast_paths"].get<std::string>());
  } else {
    for (const auto& path : info["fast_paths"]) {
      fmt::print("  {}\n", FastPathLine(path["name"].get<std::string>(),
                                        path["enabled"].get<bool>(),
                                        path["hits"].get<uint64_t>()));
    }
  }
  if (info.contains("counts")) {
    fmt::print("counts\n");
    size_t width = 0;
    for (const auto& [name, value] : info["counts"].items()) {
      width = std::max(width, name.size());
    }
    for (const auto& [name, value] : info["counts"].items()) {
      fmt::print("  {:<{}}  {}\n", name, width, value.get<std::string>());
    }
  }
  if (info.contains("mounts")) {
    fmt::print("mounts\n");
    for (const auto& mount : info["mounts"]) {
      fmt::print("  {}\n", Printable(mount.get<std::string>()));
    }
  }
}

}  // namespace

ExitStatus RunInfo(const GlobalOptions& global, const InfoOptions& options) {
  const auto session = OpenSession(global);
  if (!session) return Complain("info", "", session.error());
  const vfs::v1::OpenSessionResponse& server = session->info();

  ordered_json info;
  info["version"] = server.server_version();
  info["target"] = global.target;
  info["boot_epoch"] = fmt::format("{:016x}", server.boot_epoch());
  info["limits"] = {{"lease_milliseconds", server.lease_milliseconds()},
                    {"handles", server.max_handles()},
                    {"batch_operations", server.max_batch_operations()},
                    {"message_bytes", server.max_message_bytes()},
                    {"remembered_answers", server.remembered_answers()}};

  const auto fast_paths =
      SetFastPaths(*session, vfs::v1::SetFastPathsRequest(), global.timeout);
  if (fast_paths) {
    info["fast_paths"] = ordered_json::array();
    for (const auto& path : fast_paths->fast_paths()) {
      info["fast_paths"].push_back({{"name", FastPathName(path.fast_path())},
                                    {"enabled", path.enabled()},
                                    {"hits", path.hits()}});
    }
  } else {
    // A server without its admin service is still worth describing.
    info["fast_paths"] = fast_paths.error().Text();
  }

  if (const auto uptime = session->ReadFile("/proc/uptime")) {
    info["uptime"] = uptime->substr(0, uptime->find_first_of(" \n"));
  }
  if (const auto stat = session->ReadFile("/proc/stat")) {
    info["counts"] = Fields(*stat);
  }
  if (const auto mounts = session->ReadFile("/proc/mounts")) {
    info["mounts"] = Lines(*mounts);
  }

  if (options.json) {
    fmt::print("{}\n", info.dump(2, ' ', false,
                                 ordered_json::error_handler_t::replace));
  } else {
    Print(info);
  }
  return ExitStatus::kOk;
}

}  // namespace vfsctl
