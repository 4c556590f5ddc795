#include "server/main/options.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <expected>
#include <limits>
#include <map>
#include <string_view>
#include <thread>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/base/build_info.h"
#include "server/rpc/backend.h"
#include "server/rpc/grpc_log.h"
#include "server/vfs/file_table.h"

namespace vfsd {
namespace {

constexpr int kUsageExitCode = 2;

// Longer spans are mistakes, and overflow where they are added to a time.
constexpr absl::Duration kLongestSpan = absl::Hours(24);

// "10", "1.5" (seconds), "500ms", "2m"; not negative, at most kLongestSpan.
std::optional<absl::Duration> ParseDuration(const std::string& text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) &&
      !absl::ParseDuration(text + "s", &duration)) {
    return std::nullopt;
  }
  if (duration < absl::ZeroDuration() || duration > kLongestSpan) {
    return std::nullopt;
  }
  return duration;
}

CLI::Validator DurationCheck() {
  return CLI::Validator(
      [](std::string& text) {
        return ParseDuration(text)
                   ? std::string()
                   : "\"" + text +
                         "\" is no time span of at most 24h (10, 1.5, "
                         "500ms, 2m)";
      },
      "TIME");
}

template <typename Number>
bool ParseNumber(std::string_view text, Number& number) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// "off" or UID:GID.
std::expected<vfs::CredentialsRef, std::string> ParseAnonymous(
    std::string_view text) {
  if (text == "off") return nullptr;
  const size_t colon = text.find(':');
  uint32_t uid = 0;
  uint32_t gid = 0;
  if (colon == std::string_view::npos ||
      !ParseNumber(text.substr(0, colon), uid) ||
      !ParseNumber(text.substr(colon + 1), gid)) {
    return std::unexpected("--anonymous: want UID:GID or off, not \"" +
                           std::string(text) + "\"");
  }
  return std::make_shared<const vfs::Credentials>(uid, gid);
}

std::string VersionText() {
  return fmt::format("vfsd {} (revision {}, {}, gRPC {})",
                     build_info::Version(), build_info::Revision(),
                     build_info::Compiler(), rpc::GrpcVersion());
}

// The command line as text, before it means anything.
struct Arguments {
  std::vector<std::string> listen = {"127.0.0.1:9150"};
  std::string metrics = "127.0.0.1:9151";
  std::vector<std::string> imports;
  std::vector<std::string> snapshots;
  std::string write_snapshot;
  std::string fast_paths = "all";
  std::string credentials = "trust";
  std::string anonymous = "65534:65534";
  std::string lease = "60s";
  std::string drain_timeout = "10s";
  std::string slow_threshold = "0";
  std::string log_level = "info";
  std::string log_format = "text";
  std::string ready_file;
  int queues = 0;
  std::optional<bool> admin;
  bool locked_walk = false;
  vfs::VfsOptions vfs;
  vfs::SessionLimits sessions;
  rpc::ServiceLimits limits;
};

void Declare(CLI::App& app, Arguments& arguments) {
  app.set_version_flag("--version", VersionText());
  app.option_defaults()->always_capture_default();

  const std::string network = "Network";
  app.add_option("--listen", arguments.listen,
                 "Serve gRPC here: host:port (port 0 picks one) or unix:PATH. "
                 "May be repeated")
      ->type_name("ADDR")
      ->group(network);
  app.add_option(
         "--metrics", arguments.metrics,
         "Serve Prometheus metrics here (http://ADDR/metrics), or \"off\"")
      ->type_name("ADDR")
      ->group(network);
  app.add_option(
         "--queues", arguments.queues,
         "Completion queues, each with a thread; 0: one for two allowed CPUs")
      ->check(CLI::Range(0, 1024))
      ->group(network);
  // Not bound to the variable: without either flag that would be set to false.
  app.add_flag_function(
         "--admin,!--no-admin",
         [&arguments](int64_t count) { arguments.admin = count > 0; },
         "Serve vfs.v1.AdminService, or do not. It acts as root for whoever "
         "calls it; without either flag it is served with --credentials trust "
         "only")
      ->group(network);

  const std::string name_space = "Namespace";
  app.add_option("--import", arguments.imports,
                 "Import a directory tree of this machine's disk, at / or at a "
                 "mount point. May "
                 "be repeated")
      ->type_name("DIR[:/MOUNTPOINT]")
      ->group(name_space);
  app.add_option("--snapshot", arguments.snapshots,
                 "Load a tree from a snapshot file, at / or at a mount point. "
                 "May be repeated")
      ->type_name("FILE[:/MOUNTPOINT]")
      ->group(name_space);
  app.add_option("--write-snapshot", arguments.write_snapshot,
                 "Write the tree at / (what is mounted in it excluded) to a "
                 "snapshot file and end, without serving")
      ->type_name("FILE")
      ->group(name_space);
  app.add_option("--fast-paths", arguments.fast_paths,
                 "Fast paths to switch on: all, none, or some of "
                 "release-empty, open-consume, "
                 "permanent, empty-path, separated by commas")
      ->type_name("LIST")
      ->check(CLI::Validator(
          [](std::string& text) {
            return vfs::FastPathSet::Parse(text)
                       ? std::string()
                       : "\"" + text +
                             "\" is not all, none, or a list of release-empty, "
                             "open-consume, "
                             "permanent, empty-path";
          },
          ""))
      ->group(name_space);
  app.add_flag(
         "--locked-walk", arguments.locked_walk,
         "Walk paths with locks only (for tests; the answers are the same)")
      ->group("");

  const std::string callers = "Callers";
  app.add_option("--credentials", arguments.credentials,
                 "trust: callers may claim any user. anonymous: all are the "
                 "anonymous caller")
      ->check(CLI::IsMember({"trust", "anonymous"}))
      ->group(callers);
  app.add_option("--anonymous", arguments.anonymous,
                 "Who callers are that claim nobody; off: they are turned away")
      ->type_name("UID:GID|off")
      ->group(callers);
  app.add_option("--lease", arguments.lease,
                 "Lease of sessions that ask for none (1s to 24h)")
      ->check(DurationCheck())
      ->group(callers);

  const std::string limits = "Limits";
  app.add_option("--max-sessions", arguments.sessions.max_sessions,
                 "Open sessions")
      ->check(CLI::Range(1U, 1U << 24))
      ->group(limits);
  app.add_option("--max-handles", arguments.vfs.max_handles_per_session,
                 "Open handles of a session (EMFILE)")
      ->check(CLI::Range(1U, vfs::FileTable::kMaxSlots))
      ->group(limits);
  app.add_option("--max-files", arguments.vfs.max_files,
                 "Open files in all (ENFILE)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->group(limits);
  app.add_option("--max-batch-operations",
                 arguments.limits.max_batch_operations,
                 "Operations in one message of a batch")
      ->check(CLI::Range(1U, 1'000'000U))
      ->group(limits);
  app.add_option("--max-message-bytes", arguments.limits.max_message_bytes,
                 "Bytes of one request, and of what a response carries")
      ->check(CLI::Range(4096U, rpc::kLargestMaxMessageBytes))
      ->group(limits);

  const std::string running = "Running";
  app.add_option("--drain-timeout", arguments.drain_timeout,
                 "How long calls under way may take to end after SIGTERM")
      ->check(DurationCheck())
      ->group(running);
  app.add_option("--ready-file", arguments.ready_file,
                 "Written when the server serves, with its real addresses as "
                 "JSON; removed at "
                 "the end")
      ->type_name("FILE")
      ->group(running);
  app.add_option("--log-level", arguments.log_level,
                 "trace, debug, info, warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->group(running);
  app.add_option("--log-format", arguments.log_format,
                 "text for people, json for collectors (one object a line)")
      ->check(CLI::IsMember({"text", "json"}))
      ->group(running);
  app.add_option("--slow-operation-threshold", arguments.slow_threshold,
                 "Log calls and batches that take longer; 0: none")
      ->check(DurationCheck())
      ->group(running);
}

// Of two trees at one place the later would hide the earlier.
std::expected<void, std::string> CheckMountpoints(
    const InstanceOptions& options) {
  std::map<std::string_view, std::string_view> taken;
  for (const auto* specs : {&options.imports, &options.snapshots}) {
    for (const storage::ImportSpec& spec : *specs) {
      const auto [other, first] =
          taken.emplace(spec.mountpoint, spec.directory);
      if (!first) {
        return std::unexpected(fmt::format(
            "two trees at {}: {} and {}; give one of them another mount point "
            "({}:/PATH)",
            spec.mountpoint, other->second, spec.directory, spec.directory));
      }
    }
  }
  return {};
}

std::expected<Options, std::string> Interpret(const Arguments& arguments) {
  Options options;
  for (const std::string& text : arguments.listen) {
    std::expected<ListenAddress, std::string> address =
        ListenAddress::Parse(text);
    if (!address.has_value())
      return std::unexpected("--listen: " + address.error());
    options.server.listen.push_back(*std::move(address));
  }
  if (arguments.metrics != "off") {
    std::expected<ListenAddress, std::string> address =
        ListenAddress::Parse(arguments.metrics);
    if (!address.has_value())
      return std::unexpected("--metrics: " + address.error());
    options.metrics = *std::move(address);
  }
  const struct {
    std::string_view option;
    const std::vector<std::string>& texts;
    std::vector<storage::ImportSpec>& specs;
  } trees[] = {
      {"--import: ", arguments.imports, options.instance.imports},
      {"--snapshot: ", arguments.snapshots, options.instance.snapshots},
  };
  for (const auto& [option, texts, specs] : trees) {
    for (const std::string& text : texts) {
      std::expected<storage::ImportSpec, std::string> spec =
          storage::ParseImportSpec(text);
      if (!spec.has_value())
        return std::unexpected(std::string(option) + spec.error());
      specs.push_back(*std::move(spec));
    }
  }
  if (std::expected<void, std::string> apart =
          CheckMountpoints(options.instance);
      !apart.has_value()) {
    return std::unexpected(apart.error());
  }
  std::expected<vfs::CredentialsRef, std::string> anonymous =
      ParseAnonymous(arguments.anonymous);
  if (!anonymous.has_value()) return std::unexpected(anonymous.error());
  if (arguments.credentials == "anonymous") {
    if (*anonymous == nullptr) {
      return std::unexpected(
          "--credentials anonymous with --anonymous off would serve nobody");
    }
    options.instance.credentials = rpc::CredentialsMode::kAnonymous;
  }
  options.instance.anonymous = *std::move(anonymous);

  options.instance.vfs = arguments.vfs;
  options.instance.vfs.boot_epoch = 0;
  options.instance.vfs.fast_paths =
      *vfs::FastPathSet::Parse(arguments.fast_paths);
  options.instance.vfs.locked_walk_only = arguments.locked_walk;
  options.instance.sessions = arguments.sessions;
  options.instance.sessions.default_lease = *ParseDuration(arguments.lease);
  if (options.instance.sessions.default_lease <
          options.instance.sessions.min_lease ||
      options.instance.sessions.default_lease >
          options.instance.sessions.max_lease) {
    return std::unexpected("--lease: want 1s to 24h, not " + arguments.lease);
  }
  options.instance.limits = arguments.limits;
  options.server.queues = arguments.queues;
  options.server.admin_service = arguments.admin.value_or(
      options.instance.credentials == rpc::CredentialsMode::kTrust);
  options.server.slow_threshold =
      absl::ToChronoNanoseconds(*ParseDuration(arguments.slow_threshold));
  options.drain_timeout =
      absl::ToChronoMilliseconds(*ParseDuration(arguments.drain_timeout));
  options.ready_file = arguments.ready_file;
  options.write_snapshot = arguments.write_snapshot;
  options.log_level = arguments.log_level;
  options.log_format = arguments.log_format;
  options.fast_paths = arguments.fast_paths;
  options.credentials = arguments.credentials;
  return options;
}

}  // namespace

std::optional<Options> ParseOptions(int argc, char** argv, int& exit_code) {
  Arguments arguments;
  CLI::App app(
      "vfsd: file metadata over gRPC, from an in-memory VFS core with Linux "
      "semantics.\n"
      "Serves vfs.v1, health checking and reflection; SIGTERM drains and ends "
      "it.",
      "vfsd");
  Declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      exit_code = app.exit(error);  // --help or --version
    } else {
      fmt::print(stderr, "vfsd: {}\nTry \"vfsd --help\".\n", error.what());
      exit_code = kUsageExitCode;
    }
    return std::nullopt;
  }
  std::expected<Options, std::string> options = Interpret(arguments);
  if (!options.has_value()) {
    fmt::print(stderr, "vfsd: {}\n", options.error());
    exit_code = kUsageExitCode;
    return std::nullopt;
  }
  return *std::move(options);
}

}  // namespace vfsd
