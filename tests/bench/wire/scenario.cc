#include "tests/bench/wire/scenario.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "server/base/result.h"
#include "server/vfs/linux_abi.h"
#include "tests/bench/wire/process.h"

namespace wirebench {
namespace {

namespace abi = vfsd::vfs::linux_abi;
namespace vfs = vfsd::vfs;
using vfs::linux_abi::kStatxBasicStats;
using vfsclient::Batch;

constexpr uint32_t kReadBytes = 4096;
constexpr const char* kVersion = "/proc/version";

void Require(bool right, const char* what) {
  if (!right) Die(fmt::format("{}: a wrong answer", what));
}

// Each result of a batch in rows.
template <typename Right>
bool AllRows(const ::vfs::v1::BatchResponse& response, size_t count,
             Right&& right) {
  return static_cast<size_t>(response.results_size()) == count &&
         std::ranges::all_of(response.results(), right);
}

bool Succeeded(const ::vfs::v1::ColumnGroupResult& group, size_t count) {
  return group.count() == count && group.errno_codes_size() == 0;
}

class Builder {
 public:
  Builder(const WireFiles& files, const vfsclient::Session& session,
          corebench::CoreWorld& core)
      : files_(files), session_(session), core_(core) {
    // Absolute, as clients say them.
    for (const std::string& path : files.there) there_.push_back("/" + path);
    for (const std::string& path : files.missing)
      missing_.push_back("/" + path);
    there_views_.assign(there_.begin(), there_.end());
    missing_views_.assign(missing_.begin(), missing_.end());
    versions_.assign(there_.size(), kVersion);
    for (const std::string& path : there_) {
      const auto handle = session.Open(path, O_RDONLY);
      if (!handle.has_value()) Die(path + ": " + handle.error().Text());
      handles_.push_back(*handle);
      core_handles_.push_back(CoreOpen(path));
    }
  }

  WireScenario OpenNeg() {
    const size_t n = missing_.size();
    return {
        .name = "openneg",
        .vs_kernel = 4,
        .core_share = 2.5,
        .fast_path = "release-empty",
        .rows = {.build =
                     [this, n](Batch& batch) {
                       for (const auto path : missing_views_)
                         batch.Open(path, O_RDONLY);
                       return n;
                     },
                 .check =
                     [n](const auto& response) {
                       return AllRows(response, n, [](const auto& row) {
                         return row.errno_code() == ENOENT;
                       });
                     }},
        .columns = {.build =
                        [this, n](Batch& batch) {
                          batch.OpenAll(missing_views_, O_RDONLY);
                          return n;
                        },
                    .check =
                        [n](const auto& response) {
                          const auto& errors = response.groups(0).errno_codes();
                          return static_cast<size_t>(errors.size()) == n &&
                                 std::ranges::all_of(errors, [](uint32_t e) {
                                   return e == ENOENT;
                                 });
                        }},
        .core =
            [this, n] {
              vfs::OpenOperation open;
              for (const auto path : missing_views_) {
                open.path = path;
                const auto result = Execute(open);
                Require(!result.has_value() &&
                            result.error() == vfsd::Errno::kENOENT,
                        "core openneg");
              }
              return n;
            },
        .make_kernel =
            [this, n] {
              return [this, n] {
                for (const std::string& path : files_.missing)
                  Require(open(path.c_str(), O_RDONLY) < 0 && errno == ENOENT,
                          "kernel openneg");
                return n;
              };
            }};
  }

  WireScenario OpenClose() {
    const size_t n = there_.size();
    return {
        .name = "openclose",
        .vs_kernel = 4,
        .core_share = 2.5,
        .fast_path = "open-consume",
        .rows = {.build =
                     [this, n](Batch& batch) {
                       for (const auto path : there_views_)
                         batch.Close(batch.Open(path, O_RDONLY));
                       return 2 * n;
                     },
                 .check =
                     [n](const auto& response) {
                       return AllRows(response, 2 * n, [](const auto& row) {
                         return row.errno_code() == 0;
                       });
                     }},
        .columns = {.build =
                        [this, n](Batch& batch) {
                          batch.CloseAll(batch.OpenAll(there_views_, O_RDONLY));
                          return 2 * n;
                        },
                    .check =
                        [n](const auto& response) {
                          return Succeeded(response.groups(0), n) &&
                                 Succeeded(response.groups(1), n) &&
                                 std::ranges::find(
                                     response.groups(0).open().handles(), 0u) ==
                                     response.groups(0).open().handles().end();
                        }},
        .core =
            [this, n] {
              vfs::OpenOperation open;
              for (const auto path : there_views_) {
                open.path = path;
                const auto handle = Execute(open);
                Require(handle.has_value() &&
                            Execute(vfs::CloseOperation{*handle}).has_value(),
                        "core openclose");
              }
              return 2 * n;
            },
        .make_kernel =
            [this, n] {
              return [this, n] {
                for (const std::string& path : files_.there) {
                  const int fd = open(path.c_str(), O_RDONLY);
                  Require(fd >= 0 && close(fd) == 0, "kernel openclose");
                }
                return 2 * n;
              };
            }};
  }

  WireScenario StatxPath() {
    const size_t n = there_.size();
    return {
        .name = "statx-path",
        .vs_kernel = 4,
        .core_share = 0,
        .fast_path = "",
        .rows = {.build =
                     [this, n](Batch& batch) {
                       for (const auto path : there_views_) batch.Stat(path);
                       return n;
                     },
                 .check =
                     [n](const auto& response) {
                       return AllRows(response, n, [](const auto& row) {
                         return row.stat().ino() != 0 &&
                                S_ISREG(row.stat().mode());
                       });
                     }},
        .columns = {.build =
                        [this, n](Batch& batch) {
                          batch.StatAll(there_views_, kStatxBasicStats);
                          return n;
                        },
                    .check = [n](const auto& r) { return StatsRight(r, n); }},
        .core =
            [this, n] {
              vfs::StatOperation stat;
              stat.mask = kStatxBasicStats;
              for (const auto path : there_views_) {
                stat.path = path;
                const auto result = Execute(stat);
                Require(result.has_value() && result->ino != 0, "core statx");
              }
              return n;
            },
        .make_kernel =
            [this, n] {
              return [this, n] {
                struct statx result;
                for (const std::string& path : files_.there)
                  Require(statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS,
                                &result) == 0 &&
                              result.stx_ino != 0,
                          "kernel statx");
                return n;
              };
            }};
  }

  WireScenario Fstat() {
    const size_t n = handles_.size();
    return {
        .name = "fstat",
        .vs_kernel = 6,
        .core_share = 2.5,
        .fast_path = "empty-path",
        .rows = {.build =
                     [this, n](Batch& batch) {
                       for (const auto handle : handles_) batch.Stat(handle);
                       return n;
                     },
                 .check =
                     [n](const auto& response) {
                       return AllRows(response, n, [](const auto& row) {
                         return row.stat().ino() != 0 &&
                                S_ISREG(row.stat().mode());
                       });
                     }},
        .columns = {.build =
                        [this, n](Batch& batch) {
                          batch.StatAll(
                              std::span<const vfsclient::Handle>(handles_),
                              kStatxBasicStats);
                          return n;
                        },
                    .check = [n](const auto& r) { return StatsRight(r, n); }},
        .core =
            [this, n] {
              vfs::StatOperation stat;
              stat.path = "";
              stat.flags = abi::kAtEmptyPath;
              stat.mask = kStatxBasicStats;
              for (const vfs::Handle handle : core_handles_) {
                stat.dir = handle;
                const auto result = Execute(stat);
                Require(result.has_value() && result->ino != 0, "core fstat");
              }
              return n;
            },
        .make_kernel =
            [this, n] {
              // As many open files as the others have.
              auto fds = std::make_shared<std::vector<int>>();
              for (const std::string& path : files_.there) {
                fds->push_back(open(path.c_str(), O_RDONLY | O_CLOEXEC));
                Require(fds->back() >= 0, "kernel open");
              }
              return [fds, n] {
                struct stat result;
                for (const int fd : *fds)
                  Require(fstat(fd, &result) == 0 && result.st_ino != 0,
                          "kernel fstat");
                return n;
              };
            }};
  }

  WireScenario Access() {
    const size_t n = there_.size();
    return {.name = "access",
            .vs_kernel = 4,
            .core_share = 0,
            .fast_path = "",
            .rows = {.build =
                         [this, n](Batch& batch) {
                           for (const auto path : there_views_)
                             batch.Access(path, R_OK);
                           return n;
                         },
                     .check =
                         [n](const auto& response) {
                           return AllRows(response, n, [](const auto& row) {
                             return row.errno_code() == 0;
                           });
                         }},
            .columns = {.build =
                            [this, n](Batch& batch) {
                              batch.AccessAll(there_views_, R_OK);
                              return n;
                            },
                        .check =
                            [n](const auto& response) {
                              return Succeeded(response.groups(0), n);
                            }},
            .core =
                [this, n] {
                  vfs::AccessOperation access;
                  access.mode = R_OK;
                  for (const auto path : there_views_) {
                    access.path = path;
                    Require(Execute(access).has_value(), "core access");
                  }
                  return n;
                },
            .make_kernel =
                [this, n] {
                  return [this, n] {
                    for (const std::string& path : files_.there)
                      Require(faccessat(AT_FDCWD, path.c_str(), R_OK, 0) == 0,
                              "kernel access");
                    return n;
                  };
                }};
  }

  WireScenario ProcRead() {
    const size_t n = versions_.size();
    return {
        .name = "procread",
        .vs_kernel = 4,
        .core_share = 0,
        .fast_path = "permanent",
        .rows = {.build =
                     [n](Batch& batch) {
                       for (size_t i = 0; i < n; ++i) {
                         const auto file = batch.Open(kVersion, O_RDONLY);
                         batch.Read(file, 0, kReadBytes);
                         batch.Close(file);
                       }
                       return 3 * n;
                     },
                 .check =
                     [n](const auto& response) {
                       return AllRows(response, 3 * n, [](const auto& row) {
                         return row.errno_code() == 0 &&
                                (!row.has_read() || !row.read().data().empty());
                       });
                     }},
        .columns = {.build =
                        [this, n](Batch& batch) {
                          const auto opened =
                              batch.OpenAll(versions_, O_RDONLY);
                          batch.ReadAll(opened, 0, kReadBytes);
                          batch.CloseAll(opened);
                          return 3 * n;
                        },
                    .check =
                        [n](const auto& response) {
                          const auto& read = response.groups(1).read();
                          return Succeeded(response.groups(0), n) &&
                                 Succeeded(response.groups(1), n) &&
                                 Succeeded(response.groups(2), n) &&
                                 read.joined().size() == read.ends(0) * n;
                        }},
        .core =
            [this, n] {
              std::array<char, kReadBytes> buffer;
              vfs::OpenOperation open;
              open.path = kVersion;
              for (size_t i = 0; i < n; ++i) {
                const auto handle = Execute(open);
                Require(handle.has_value(), "core procread");
                vfs::ReadOperation read;
                read.handle = *handle;
                read.buffer = buffer;
                Require(Execute(read).value_or(0) > 0 &&
                            Execute(vfs::CloseOperation{*handle}).has_value(),
                        "core procread");
              }
              return 3 * n;
            },
        .make_kernel =
            [n] {
              return [n] {
                std::array<char, kReadBytes> buffer;
                for (size_t i = 0; i < n; ++i) {
                  const int fd = open(kVersion, O_RDONLY);
                  Require(fd >= 0 &&
                              read(fd, buffer.data(), buffer.size()) > 0 &&
                              close(fd) == 0,
                          "kernel procread");
                }
                return 3 * n;
              };
            }};
  }

 private:
  static bool StatsRight(const ::vfs::v1::BatchResponse& response, size_t n) {
    const auto& stat = response.groups(0).stat();
    return Succeeded(response.groups(0), n) &&
           static_cast<size_t>(stat.mtime_seconds_size()) == n &&
           std::ranges::all_of(stat.mode(),
                               [](uint32_t mode) { return S_ISREG(mode); }) &&
           std::ranges::find(stat.ino(), 0u) == stat.ino().end();
  }

  template <typename Operation>
  vfsd::Result<typename Operation::Result> Execute(const Operation& operation) {
    return core_.executor().Execute(core_.caller(0), operation);
  }
  vfs::Handle CoreOpen(std::string_view path) {
    vfs::OpenOperation open;
    open.path = path;
    const auto handle = Execute(open);
    Require(handle.has_value(), "core open");
    return *handle;
  }

  const WireFiles& files_;
  const vfsclient::Session& session_;
  corebench::CoreWorld& core_;
  std::vector<std::string> there_;
  std::vector<std::string> missing_;
  std::vector<std::string_view> there_views_;
  std::vector<std::string_view> missing_views_;
  std::vector<std::string_view> versions_;
  std::vector<vfsclient::Handle> handles_;
  std::vector<vfs::Handle> core_handles_;
};

}  // namespace

std::vector<WireScenario> MakeScenarios(const WireFiles& files,
                                        const vfsclient::Session& session,
                                        corebench::CoreWorld& core) {
  // Lives as long as the scenarios' functions do.
  auto builder = std::make_shared<Builder>(files, session, core);
  std::vector<WireScenario> scenarios;
  for (WireScenario scenario :
       {builder->OpenNeg(), builder->OpenClose(), builder->StatxPath(),
        builder->Fstat(), builder->Access(), builder->ProcRead()}) {
    // What is copied keeps the builder.
    scenario.core = [builder, run = std::move(scenario.core)] { return run(); };
    scenarios.push_back(std::move(scenario));
  }
  return scenarios;
}

}  // namespace wirebench
