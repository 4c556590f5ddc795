// vfsctl fast-paths: shows which fast paths are on, or switches them while the
// server runs. The names are those of vfsd --fast-paths.
#ifndef CLIENT_CTL_FAST_PATHS_COMMAND_H_
#define CLIENT_CTL_FAST_PATHS_COMMAND_H_

#include <expected>
#include <string>
#include <string_view>

#include "client/ctl/command.h"
#include "vfs/v1/admin.pb.h"

namespace vfsctl {

struct FastPathsOptions {
  // "all", "none" or names separated by commas: these are on afterwards and no
  // others. Empty: only show.
  std::string list;
};

ExitStatus RunFastPaths(const GlobalOptions& global,
                        const FastPathsOptions& options);

// A list as a request that sets every fast path; the error is for people.
std::expected<vfs::v1::SetFastPathsRequest, std::string> ParseFastPaths(
    std::string_view list);

// Sets what the request names, and tells the state of all.
std::expected<vfs::v1::SetFastPathsResponse, vfsclient::Error> SetFastPaths(
    const vfsclient::Session& session,
    const vfs::v1::SetFastPathsRequest& request,
    std::chrono::milliseconds timeout);

std::string_view FastPathName(vfs::v1::FastPath fast_path);

// A line a fast path: its name, on or off, its hits.
std::string FastPathLine(std::string_view name, bool enabled, uint64_t hits);

}  // namespace vfsctl

#endif  // CLIENT_CTL_FAST_PATHS_COMMAND_H_
