#include "tests/bench/core/growth_suite.h"

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "fmt/format.h"
#include "server/storage/snapshot_loader.h"
#include "server/storage/snapshot_writer.h"
#include "server/sync/rcu.h"
#include "server/vfs/live_objects.h"
#include "tests/bench/core/core_world.h"
#include "tests/bench/core/tree_shape.h"

namespace corebench {
namespace {

constexpr uint64_t kMediumFiles = 1'000'000;
constexpr uint64_t kSmallFiles = 10'000;
constexpr uint64_t kHotFiles = 1'000;

// Files of a tree of `files`, each once, in random order.
std::vector<std::string> RandomPaths(uint64_t files, uint64_t count) {
  std::vector<uint64_t> numbers(files);
  for (uint64_t i = 0; i < files; ++i) numbers[i] = i;
  std::mt19937_64 random(files);  // NOLINT: the same files in every run
  std::shuffle(numbers.begin(), numbers.end(), random);
  std::vector<std::string> paths;
  paths.reserve(count);
  for (uint64_t i = 0; i < count; ++i)
    paths.push_back(TreeShape::FilePath(numbers[i]));
  return paths;
}

// A number of kilobytes in a file of the host's /proc, in bytes.
int64_t ProcBytes(const char* file, std::string_view field) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(field))
      return std::stoll(line.substr(field.size() + 1)) * 1024;
  }
  return 0;
}

int64_t ResidentBytes() { return ProcBytes("/proc/self/status", "VmRSS"); }

// A value that is measured once.
Interval Once(double value) { return {value, value, value}; }

void PrintMemory(CoreWorld& world, int64_t resident, uint64_t files) {
  using vfsd::vfs::ObjectKind;
  const auto per_file = [files](int64_t bytes) {
    return static_cast<double>(bytes) / static_cast<double>(files);
  };
  // malloc's header, and its rounding.
  const auto block = [](size_t bytes) {
    return static_cast<int64_t>((bytes + 8 + 15) / 16 * 16);
  };
  const int64_t directories =
      vfsd::vfs::live_objects::Count(ObjectKind::kDirectoryInode);
  const int64_t inodes =
      directories + vfsd::vfs::live_objects::Count(ObjectKind::kRegularInode);
  const int64_t dentries = vfsd::vfs::live_objects::Count(ObjectKind::kDentry);
  constexpr size_t kNameBytes = 20;
  const int64_t inode_bytes = inodes * block(sizeof(vfsd::vfs::Inode));
  const int64_t dentry_bytes =
      dentries * block(vfsd::vfs::Dentry::AllocationBytes(kNameBytes));
  const int64_t directory_bytes =
      directories * block(sizeof(vfsd::vfs::Directory));
  const auto table_bytes =
      static_cast<int64_t>(world.root_file_system().dentries().memory_bytes());
  fmt::print(
      "  bytes a file: {:.1f} inodes, {:.1f} dentries with names, {:.1f} hash "
      "table, {:.1f} directories, {:.1f} listings and the allocator; {:.1f} in "
      "all\n",
      per_file(inode_bytes), per_file(dentry_bytes), per_file(table_bytes),
      per_file(directory_bytes),
      per_file(resident - inode_bytes - dentry_bytes - table_bytes -
               directory_bytes),
      per_file(resident));
}

}  // namespace

void GrowthSuite::Run() {
  RunRandom();
  if (large_files_ != 0) RunLarge();
}

void GrowthSuite::RunRandom() {
  fmt::print("\n== random files of {}\n", kMediumFiles);
  const int64_t slab = ProcBytes("/proc/meminfo", "Slab:");
  kernel_.GrowTree(kMediumFiles);
  const int64_t kernel_bytes = ProcBytes("/proc/meminfo", "Slab:") - slab;
  CoreWorld core("version\n", 1);
  const int64_t resident = ResidentBytes();
  core.GrowTree(0, kMediumFiles);
  const int64_t core_bytes = ResidentBytes() - resident;
  const std::vector<std::string> paths =
      RandomPaths(kMediumFiles, kMediumFiles);
  Loop core_loop = core.StatPaths(paths, 0);
  Loop kernel_loop = kernel_.StatPaths(paths);
  Contender core_one{"core", &threads_, {&core_loop}};
  Contender kernel_one{"kernel", &threads_, {&kernel_loop}};
  comparison_.Run({&core_one, &kernel_one});
  for (const Contender* contender : {&core_one, &kernel_one}) {
    fmt::print("  {:<28} {:8.1f} ns\n", contender->name,
               contender->cost.Summary().median);
  }
  report_.Add("core.growth.random_vs_kernel",
              Quotient(kernel_one.cost, core_one.cost).Summary(),
              Goal::kAtLeast, 5, "statx by path, every file as likely");
  fmt::print(
      "  bytes a file at {}: core {:.0f}, tmpfs {:.0f} (slab)\n", kMediumFiles,
      static_cast<double>(core_bytes) / static_cast<double>(kMediumFiles),
      static_cast<double>(kernel_bytes) / static_cast<double>(kMediumFiles));
}

void GrowthSuite::RunLarge() {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() /
      fmt::format("core-bench-{}.snapshot", getpid());
  const absl::Cleanup remove = [&file] {
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
  };
  RunLargeTree(file);
  vfsd::sync::RcuBarrier();
  malloc_trim(0);
  RunLoad(file);
}

void GrowthSuite::RunLoad(const std::string& file) {
  fmt::print("\n== loading a snapshot of {} files\n", large_files_);
  const int64_t resident = ResidentBytes();
  // CPU time: the processor may be taken away, and the file is in the page
  // cache.
  const int64_t begin = ProcessCpuNanoseconds();
  const auto tree = vfsd::storage::LoadSnapshot(file);
  const int64_t cpu = ProcessCpuNanoseconds() - begin;
  if (!tree.has_value() || tree->report.regular_files != large_files_) {
    fmt::print(stderr, "core_bench: {}\n",
               tree.has_value() ? "files are missing" : tree.error());
    std::exit(1);
  }
  constexpr double kNanosecondsPerSecond = 1e9;
  report_.Add("core.load.files_per_second",
              Once(kNanosecondsPerSecond * static_cast<double>(large_files_) /
                   static_cast<double>(cpu)),
              Goal::kAtLeast, 1'500'000, "from a snapshot file, of CPU time");
  fmt::print("  {:.2f} s; {:.1f} bytes a file afterwards\n",
             tree->report.seconds,
             static_cast<double>(ResidentBytes() - resident) /
                 static_cast<double>(large_files_));
}

double GrowthSuite::WorstMutation(CoreWorld& world) const {
  // CPU time, since a busy machine takes the processor away for longer than any
  // mutation takes; and not of those from which it was taken, since what was in
  // the caches is then gone.
  struct Moment {
    int64_t cpu;
    long switches;
  };
  const auto now = [] {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return Moment{ThreadCpuNanoseconds(), usage.ru_nivcsw};
  };
  Moment begin = now();
  int64_t worst = 0;
  bool ends = false;
  world.GrowTree(0, large_files_, [&] {
    const Moment moment = now();
    if (ends && moment.switches == begin.switches)
      worst = std::max(worst, moment.cpu - begin.cpu);
    begin = moment;
    ends = !ends;
  });
  constexpr double kNanosecondsPerMillisecond = 1e6;
  return static_cast<double>(worst) / kNanosecondsPerMillisecond;
}

void GrowthSuite::RunLargeTree(const std::string& snapshot) {
  fmt::print("\n== growing to {}\n", large_files_);
  // Twice: what another tenant of the machine does to a mutation adds to it and
  // never takes from it.
  const double first = [this] {
    CoreWorld world("version\n", 1);
    return WorstMutation(world);
  }();
  vfsd::sync::RcuBarrier();
  malloc_trim(0);
  const int64_t resident = ResidentBytes();
  CoreWorld large("version\n", 1);
  const double second = WorstMutation(large);
  report_.Add("core.growth.worst_mutation_ms", Once(std::min(first, second)),
              Goal::kAtMost, 1,
              fmt::format("the longest of all mknods, CPU time; two trees: "
                          "{:.3f} and {:.3f}",
                          first, second));
  const int64_t bytes = ResidentBytes() - resident;
  PrintMemory(large, bytes, large_files_);
  report_.Add(
      "core.density.bytes_per_file",
      Once(static_cast<double>(bytes) / static_cast<double>(large_files_)),
      Goal::kAtMost, 200, "resident, names of 20 bytes, directories included");

  CoreWorld small("version\n", 1);
  small.GrowTree(0, kSmallFiles);
  const std::vector<std::string> hot = RandomPaths(kSmallFiles, kHotFiles);
  Loop large_loop = large.StatPaths(hot, 0);
  Loop small_loop = small.StatPaths(hot, 0);
  Contender in_large{"large", &threads_, {&large_loop}};
  Contender in_small{"small", &threads_, {&small_loop}};
  comparison_.Run({&in_large, &in_small});
  fmt::print(
      "  {} hot files: {:.1f} ns in the large tree, {:.1f} ns in one of "
      "{}\n",
      kHotFiles, in_large.cost.Summary().median, in_small.cost.Summary().median,
      kSmallFiles);
  report_.Add("core.growth.hot_files",
              Quotient(in_large.cost, in_small.cost).Summary(), Goal::kAtMost,
              1.25, "the same hot files, large tree over small one");

  const auto written =
      vfsd::storage::WriteSnapshot(large.root_file_system(), snapshot);
  if (!written.has_value()) {
    fmt::print(stderr, "core_bench: {}\n", written.error());
    std::exit(1);
  }
}

}  // namespace corebench
