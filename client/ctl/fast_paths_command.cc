#include "client/ctl/fast_paths_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "vfs/v1/admin.grpc.pb.h"

namespace vfsctl {
namespace {

constexpr std::array<std::pair<vfs::v1::FastPath, std::string_view>, 4> kNames =
    {{{vfs::v1::FAST_PATH_RELEASE_EMPTY, "release-empty"},
      {vfs::v1::FAST_PATH_OPEN_CONSUME, "open-consume"},
      {vfs::v1::FAST_PATH_PERMANENT, "permanent"},
      {vfs::v1::FAST_PATH_EMPTY_PATH, "empty-path"}}};

std::vector<std::string_view> SplitAtCommas(std::string_view list) {
  std::vector<std::string_view> names;
  while (true) {
    const size_t comma = list.find(',');
    names.push_back(list.substr(0, comma));
    if (comma == std::string_view::npos) return names;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

std::string_view FastPathName(vfs::v1::FastPath fast_path) {
  for (const auto& [value, name] : kNames) {
    if (value == fast_path) return name;
  }
  return "unknown";
}

std::expected<vfs::v1::SetFastPathsRequest, std::string> ParseFastPaths(
    std::string_view list) {
  std::vector<std::string_view> wanted;
  if (list != "all" && list != "none") {
    wanted = SplitAtCommas(list);
    for (const std::string_view name : wanted) {
      const bool known =
          std::any_of(kNames.begin(), kNames.end(),
                      [&](const auto& row) { return row.second == name; });
      if (!known) {
        return std::unexpected(
            fmt::format("no fast path '{}'; say all, none, or some of "
                        "release-empty, open-consume, permanent, empty-path, "
                        "separated by commas",
                        name));
      }
    }
  }
  vfs::v1::SetFastPathsRequest request;
  for (const auto& [value, name] : kNames) {
    vfs::v1::FastPathSetting* setting = request.add_settings();
    setting->set_fast_path(value);
    setting->set_enabled(list == "all" ||
                         std::find(wanted.begin(), wanted.end(), name) !=
                             wanted.end());
  }
  return request;
}

std::expected<vfs::v1::SetFastPathsResponse, vfsclient::Error> SetFastPaths(
    const vfsclient::Session& session,
    const vfs::v1::SetFastPathsRequest& request,
    std::chrono::milliseconds timeout) {
  const auto stub = vfs::v1::AdminService::NewStub(session.channel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout);
  vfs::v1::SetFastPathsResponse response;
  const grpc::Status status = stub->SetFastPaths(&context, request, &response);
  if (!status.ok()) {
    return std::unexpected(vfsclient::Error::FromStatus(status));
  }
  return response;
}

std::string FastPathLine(std::string_view name, bool enabled, uint64_t hits) {
  return fmt::format("{:<14}{:<4}{} hits", name, enabled ? "on" : "off", hits);
}

ExitStatus RunFastPaths(const GlobalOptions& global,
                        const FastPathsOptions& options) {
  vfs::v1::SetFastPathsRequest request;
  if (!options.list.empty()) {
    auto parsed = ParseFastPaths(options.list);
    if (!parsed) {
      fmt::print(stderr, "vfsctl: fast-paths: {}\n", parsed.error());
      return ExitStatus::kUsage;
    }
    request = *std::move(parsed);
  }
  const auto session = OpenSession(global);
  if (!session) return Complain("fast-paths", "", session.error());
  const auto response = SetFastPaths(*session, request, global.timeout);
  if (!response) return Complain("fast-paths", "", response.error());
  for (const auto& path : response->fast_paths()) {
    fmt::print("{}\n", FastPathLine(FastPathName(path.fast_path()),
                                    path.enabled(), path.hits()));
  }
  return ExitStatus::kOk;
}

}  // namespace vfsctl
