// vfsctl: asks a vfsd, from the command line.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>

#include "client/ctl/command.h"
#include "client/ctl/fast_paths_command.h"
#include "client/ctl/health_command.h"
#include "client/ctl/info_command.h"
#include "client/ctl/ls_command.h"
#include "client/ctl/mount_command.h"
#include "client/ctl/stat_command.h"
#include "client/lib/address.h"

namespace vfsctl {
namespace {

constexpr const char* kExitStatuses =
    "Exit status: 0 all is well; 1 the server said no (or is not serving); "
    "2 usage; 3 the server cannot be reached.";

int Main(int argc, char** argv) {
  CLI::App app(
      "Asks a vfsd: is it well, what is it, what does it hold; switches its "
      "fast paths.",
      "vfsctl");
  app.set_version_flag("--version",
                       "vfsctl " VFSD_VERSION " (" VFSD_REVISION ")");
  app.require_subcommand(1);
  app.fallthrough();
  app.footer(kExitStatuses);

  GlobalOptions global;
  int64_t timeout_ms = global.timeout.count();
  app.add_option("--target", global.target,
                 "The server: host:port or unix:PATH")
      ->capture_default_str()
      ->check([](const std::string& text) {
        const auto address = vfsclient::Address::Parse(text);
        return address ? std::string() : address.error();
      });
  app.add_option("--uid", global.uid,
                 "Ask as this user; without --uid and --gid: as the server's "
                 "anonymous caller");
  app.add_option("--gid", global.gid, "Ask as this group (default: the uid)");
  app.add_option("--timeout", timeout_ms,
                 "Longest wait for one answer, in milliseconds")
      ->capture_default_str()
      ->check(CLI::Range(1, 3'600'000));

  std::function<ExitStatus()> command;

  HealthOptions health;
  CLI::App* health_app = app.add_subcommand(
      "health",
      "Exit status 0 if and only if the server is SERVING (container check)");
  health_app->add_option("--service", health.service,
                         "A service by its full name; default: the server");
  health_app->add_flag("-q,--quiet", health.quiet, "Say nothing on success");
  health_app->callback(
      [&] { command = [&] { return RunHealth(global, health); }; });

  InfoOptions info;
  CLI::App* info_app = app.add_subcommand(
      "info", "Version, limits, fast paths, uptime, counts and mounts");
  info_app->add_flag("--json", info.json, "As one JSON object");
  info_app->callback([&] { command = [&] { return RunInfo(global, info); }; });

  StatOptions stat;
  CLI::App* stat_app =
      app.add_subcommand("stat", "Attributes of files, like stat(1)");
  stat_app->add_option("PATH", stat.paths, "Files")->required();
  stat_app->add_flag("-L,--dereference", stat.dereference,
                     "Follow symbolic links");
  stat_app->add_flag("--json", stat.json, "One JSON object a file");
  stat_app->callback([&] { command = [&] { return RunStat(global, stat); }; });

  LsOptions ls;
  CLI::App* ls_app =
      app.add_subcommand("ls", "Entries of directories, like ls(1)");
  ls_app->add_option("PATH", ls.paths, "Directories (default: /)");
  ls_app->add_flag("-l", ls.long_format, "With attributes");
  ls_app->add_flag("-a", ls.all, "Names that start with a dot too");
  ls_app->callback([&] { command = [&] { return RunLs(global, ls); }; });

  FastPathsOptions fast_paths;
  CLI::App* fast_paths_app = app.add_subcommand(
      "fast-paths", "Show which fast paths are on, or switch them");
  fast_paths_app->add_option(
      "LIST", fast_paths.list,
      "all, none, or names separated by commas: these on, the others off");
  fast_paths_app->callback(
      [&] { command = [&] { return RunFastPaths(global, fast_paths); }; });

  MountOptions mount;
  CLI::App* mount_app = app.add_subcommand(
      "mount", "Mount an empty tree, or a directory once more, at PATH");
  mount_app->add_option("PATH", mount.path, "The mount point: a directory")
      ->required();
  CLI::Option* bind = mount_app->add_option(
      "--bind", mount.bind, "Mount this directory of the namespace once more");
  mount_app
      ->add_flag("--remount", mount.remount,
                 "Mount nothing new: other options for what is mounted there")
      ->excludes(bind);
  mount_app->add_flag("-r,--read-only", mount.read_only,
                      "Changes in it are EROFS");
  mount_app->add_flag("--no-direct-io", mount.no_direct_io,
                      "Opens with O_DIRECT are EINVAL in it");
  mount_app->callback(
      [&] { command = [&] { return RunMount(global, mount); }; });

  UnmountOptions unmount;
  CLI::App* unmount_app =
      app.add_subcommand("unmount", "Unmount what is mounted at PATH");
  unmount_app->add_option("PATH", unmount.path, "The root of the mount")
      ->required();
  unmount_app->add_flag("-l,--lazy", unmount.lazy,
                        "Detach now, end when the last user is gone");
  unmount_app->callback(
      [&] { command = [&] { return RunUnmount(global, unmount); }; });

  MountsOptions mounts;
  CLI::App* mounts_app =
      app.add_subcommand("mounts", "All mounts, in the order of mounting");
  mounts_app->add_flag("--json", mounts.json, "As one JSON array");
  mounts_app->callback(
      [&] { command = [&] { return RunMounts(global, mounts); }; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "vfsctl: {}\nTry 'vfsctl --help'.\n", error.what());
    return static_cast<int>(ExitStatus::kUsage);
  }
  global.timeout = std::chrono::milliseconds(timeout_ms);
  return static_cast<int>(command());
}

}  // namespace
}  // namespace vfsctl

int main(int argc, char** argv) { return vfsctl::Main(argc, argv); }
