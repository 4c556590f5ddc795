// What the files of proc say: the core files, the kept content of sequence
// files, and the sessions' entries.

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/fs/proc/core_files.h"
#include "server/fs/proc/fixed_file.h"
#include "server/fs/proc/mounts_text.h"
#include "server/fs/proc/sequence_file.h"
#include "server/fs/proc/statistics_text.h"
#include "server/vfs/mount_at.h"
#include "tests/unit/fs/allocations.h"
#include "tests/unit/fs/world.h"

namespace vfsd {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::World;
using testing::WorldOptions;

// The core files refer to the Vfs that they are mounted in: they are made for a
// mount table that is there before.
class CoreFiles : public ::testing::Test {
 protected:
  proc::CoreFilesOptions Options() {
    proc::CoreFilesOptions options;
    options.version = "vfsd version 0.1.0 (test)";
    options.started = absl::Now() - absl::Seconds(100);
    options.statistics = [this] { return statistics_(); };
    return options;
  }
  World MakeWorld(proc::CoreFilesOptions options) {
    WorldOptions world_options;
    world_options.core_files = proc::MakeCoreFiles(std::move(options), mounts_);
    world_options.session_entries = true;
    return World(std::move(world_options));
  }

  // For tests of one file that do not look at mounts.
  vfs::MountTable mounts_;
  std::function<std::string()> statistics_ = [] {
    return std::string("s 1\n");
  };
};

TEST_F(CoreFiles, AreThereAndPermanent) {
  World world = MakeWorld(Options());
  const std::vector<std::string> names = {"version", "uptime",  "stat",
                                          "cpuinfo", "meminfo", "mounts"};
  for (const std::string& name : names) {
    EXPECT_THAT(world.Names("/proc"), Contains(name));
    const auto entry = world.proc->Find(nullptr, name);
    ASSERT_NE(entry, nullptr) << name;
    EXPECT_TRUE(entry->permanent()) << name;
    EXPECT_TRUE(entry->seekable()) << name;
  }
  for (const char* name : {"version", "uptime", "stat", "cpuinfo", "meminfo"}) {
    const auto text = world.ReadAll(std::string("/proc/") + name);
    ASSERT_TRUE(text.has_value()) << name;
    EXPECT_THAT(*text, Not(::testing::IsEmpty())) << name;
    EXPECT_EQ(text->back(), '\n') << name;
  }
  EXPECT_EQ(world.counters.in_use_changes.Sum(), 0);
  EXPECT_EQ(world.counters.openers_allocated.Sum(), 0);
}

TEST_F(CoreFiles, VersionIsFixed) {
  World world = MakeWorld(Options());
  EXPECT_EQ(world.ReadAll("/proc/version"), "vfsd version 0.1.0 (test)\n");
  EXPECT_EQ(world.ReadAll("/proc/version"), "vfsd version 0.1.0 (test)\n");
}

TEST_F(CoreFiles, VersionIsServedWithoutAllocation) {
  World world = MakeWorld(Options());
  // An ordinary file's open and close cost what the core needs for any file.
  const auto count_open_close = [&world](const char* path, uint32_t flags) {
    const int64_t before = testing::Allocations();
    const auto handle = world.Open(path, flags);
    EXPECT_TRUE(handle.has_value());
    world.Close(*handle);
    return testing::Allocations() - before;
  };
  const int64_t before_creation = testing::Allocations();
  count_open_close("/file", vfs::linux_abi::kOCreat);
  EXPECT_GT(testing::Allocations(), before_creation);  // counting works
  count_open_close("/proc/version", 0);
  const int64_t ordinary = count_open_close("/file", 0);
  EXPECT_EQ(count_open_close("/proc/version", 0), ordinary);

  const auto handle = world.Open("/proc/version");
  ASSERT_TRUE(handle.has_value());
  std::array<char, 64> buffer;
  vfs::ReadOperation read;
  read.handle = *handle;
  read.buffer = buffer;
  const vfs::Caller caller(*world.session);
  const int64_t before = testing::Allocations();
  const auto size = world.executor.Execute(caller, read);
  EXPECT_EQ(testing::Allocations(), before);
  EXPECT_EQ(size, std::string("vfsd version 0.1.0 (test)\n").size());
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
}

TEST_F(CoreFiles, UptimeIsTwoNumbers) {
  World world = MakeWorld(Options());
  const auto text = world.ReadAll("/proc/uptime");
  ASSERT_TRUE(text.has_value());
  double up = 0;
  double idle = 0;
  char end = 0;
  ASSERT_EQ(std::sscanf(text->c_str(), "%lf %lf%c", &up, &idle, &end), 3);
  EXPECT_EQ(end, '\n');
  EXPECT_GE(up, 100.0);
  EXPECT_GE(idle, 0.0);
}

TEST_F(CoreFiles, StatIsWhatTheServerCounts) {
  World world = MakeWorld(Options());
  statistics_ = [&world] {
    return proc::StatisticsText(world.vfs, world.executor.counters(),
                                world.sessions);
  };
  EXPECT_EQ(world.Open("/missing"), Fail(Errno::kENOENT));
  const auto handle = world.Open("/proc/version");
  ASSERT_TRUE(handle.has_value());
  const auto text = world.ReadAll("/proc/stat");
  ASSERT_TRUE(text.has_value());
  // This open of stat has ended when its content is made; the read has not.
  EXPECT_THAT(*text, HasSubstr("operations_open 3\n"));
  EXPECT_THAT(*text, HasSubstr("operations_open_errors 1\n"));
  EXPECT_THAT(*text, HasSubstr("operations_read 0\n"));
  EXPECT_THAT(*text, HasSubstr("operations_mkdir 1\n"));
  EXPECT_THAT(*text, HasSubstr("sessions 1\n"));
  EXPECT_THAT(*text, HasSubstr("open_handles 2\n"));
  EXPECT_THAT(*text, HasSubstr("open_files 2\n"));
  EXPECT_THAT(*text, HasSubstr("mounts 2\n"));
  EXPECT_THAT(*text, HasSubstr("objects_mount 2\n"));
  EXPECT_THAT(*text, HasSubstr("fast_path_permanent_enabled 1\n"));
  EXPECT_THAT(*text, HasSubstr("fast_path_permanent_hits 3\n"));
  EXPECT_THAT(*text, HasSubstr("fast_path_release_empty_hits 1\n"));
  // Every line is a name and a number.
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, ::testing::MatchesRegex("[a-z_]+ [0-9]+"));
  }
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
}

// However many reads a batch has: each sum costs what thousands of reads do.
TEST_F(CoreFiles, StatisticsAreMadeOnceAnIntervalHoweverOftenTheyAreRead) {
  int made = 0;
  statistics_ = [&made] { return fmt::format("made {}\n", ++made); };
  proc::CoreFilesOptions options = Options();
  options.statistics_max_age = absl::Hours(1);
  World world = MakeWorld(std::move(options));
  const auto handle = world.Open("/proc/stat");
  ASSERT_TRUE(handle.has_value());
  std::array<char, 1> buffer;
  vfs::ReadOperation read;
  read.handle = *handle;
  read.buffer = buffer;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(world.executor.Execute(vfs::Caller(*world.session), read), 1U);
  }
  EXPECT_EQ(world.ReadAll("/proc/stat"), "made 1\n");
  EXPECT_EQ(made, 1);
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
}

TEST_F(CoreFiles, StatisticsAreMadeAgainWhenOld) {
  int made = 0;
  statistics_ = [&made] { return fmt::format("made {}\n", ++made); };
  proc::CoreFilesOptions options = Options();
  options.statistics_max_age = absl::ZeroDuration();
  World world = MakeWorld(std::move(options));
  EXPECT_EQ(world.ReadAll("/proc/stat"), "made 1\n");
  EXPECT_EQ(world.ReadAll("/proc/stat"), "made 2\n");
}

TEST_F(CoreFiles, HostsFilesAreCopiedAndCached) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() /
      fmt::format("vfsd_host_proc_{}", getpid());
  std::filesystem::create_directory(directory);
  std::ofstream(directory / "cpuinfo") << "processor\t: 7\n";
  proc::CoreFilesOptions options = Options();
  options.host_proc = directory;
  options.host_max_age = absl::Hours(1);
  World world = MakeWorld(std::move(options));
  EXPECT_EQ(world.ReadAll("/proc/cpuinfo"), "processor\t: 7\n");
  std::ofstream(directory / "cpuinfo") << "processor\t: 8\n";
  EXPECT_EQ(world.ReadAll("/proc/cpuinfo"), "processor\t: 7\n");
  // There is no meminfo: what can be told.
  const auto meminfo = world.ReadAll("/proc/meminfo");
  ASSERT_TRUE(meminfo.has_value());
  EXPECT_THAT(*meminfo, ContainsRegex("MemTotal: +[0-9]+ kB\n"));
  std::filesystem::remove_all(directory);
}

TEST_F(CoreFiles, HostsFilesAreReadAgainWhenOld) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() /
      fmt::format("vfsd_host_proc_{}", getpid());
  std::filesystem::create_directory(directory);
  std::ofstream(directory / "meminfo") << "MemTotal: 1 kB\n";
  proc::CoreFilesOptions options = Options();
  options.host_proc = directory;
  options.host_max_age = absl::ZeroDuration();
  World world = MakeWorld(std::move(options));
  EXPECT_EQ(world.ReadAll("/proc/meminfo"), "MemTotal: 1 kB\n");
  std::ofstream(directory / "meminfo") << "MemTotal: 2 kB\n";
  EXPECT_EQ(world.ReadAll("/proc/meminfo"), "MemTotal: 2 kB\n");
  std::filesystem::remove_all(directory);
}

TEST(MountsText, IsALineAMountWithEscapes) {
  World world;
  vfs::MountOptions options;
  options.read_only = true;
  options.no_direct_io = true;
  world.MakeDirectory("/a b");
  vfs::Inode& root = world.vfs.top().file_system().root();
  vfs::PinnedInode mountpoint;
  {
    const sync::RcuReadSection section;
    mountpoint = vfs::PinnedInode::TryShare(
        world.vfs.top()
            .file_system()
            .dentries()
            .Find(&root, vfs::DentryTable::Hash(&root, "a b"), "a b")
            ->inode());
  }
  ASSERT_TRUE(world.vfs.mounts
                  .MountOn(std::make_shared<mem::MemFileSystem>(),
                           world.vfs.top(), std::move(mountpoint), "/a b",
                           options)
                  .has_value());
  EXPECT_EQ(proc::MountsText(world.vfs.mounts),
            "mem / mem rw,relatime 0 0\n"
            "proc /proc proc rw,relatime 0 0\n"
            "mem /a\\040b mem ro,relatime,nodirectio 0 0\n");
}

TEST(SequenceFile, PagesOfOneOpenFileFitTogether) {
  World world;
  std::atomic<int> made = 0;
  ASSERT_TRUE(
      world.proc
          ->AddFile(nullptr, "counter", {},
                    std::make_unique<proc::SequenceFile>(
                        [&made]() -> Result<proc::SharedText> {
                          const int version = ++made;
                          return std::make_shared<const std::string>(
                              fmt::format("first {0} second {0}\n", version));
                        }))
          .has_value());
  const auto handle = world.Open("/proc/counter");
  const auto other = world.Open("/proc/counter");
  ASSERT_TRUE(handle.has_value() && other.has_value());
  EXPECT_EQ(made, 0);  // not before the first read
  EXPECT_EQ(world.Read(*handle, 0, 8), "first 1 ");
  EXPECT_EQ(world.Read(*other, 0, 8), "first 2 ");
  EXPECT_EQ(world.Read(*handle, 8, 100), "second 1\n");
  EXPECT_EQ(world.Read(*handle, 17, 100), "");
  EXPECT_EQ(world.Read(*handle, int64_t{1} << 40, 100), "");
  EXPECT_EQ(made, 2);
  // From the start again: new content.
  EXPECT_EQ(world.Read(*handle, 0, 100), "first 3 second 3\n");
  EXPECT_EQ(world.Read(*other, 8, 100), "second 2\n");
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
  EXPECT_EQ(world.Close(*other), Errno::kOk);
}

TEST(SequenceFile, FirstReadInTheMiddleMakesTheContent) {
  World world;
  ASSERT_TRUE(world.proc
                  ->AddFile(nullptr, "text", {},
                            std::make_unique<proc::SequenceFile>(
                                []() -> Result<proc::SharedText> {
                                  return std::make_shared<const std::string>(
                                      "0123456789");
                                }))
                  .has_value());
  const auto handle = world.Open("/proc/text");
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(world.Read(*handle, 5), "56789");
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
}

TEST(SequenceFile, ErrorOfTheMakerIsTheReads) {
  World world;
  ASSERT_TRUE(world.proc
                  ->AddFile(nullptr, "fails", {},
                            std::make_unique<proc::SequenceFile>(
                                []() -> Result<proc::SharedText> {
                                  return Fail(Errno::kENOMEM);
                                }))
                  .has_value());
  EXPECT_EQ(world.ReadAll("/proc/fails"), Fail(Errno::kENOMEM));
}

TEST(SequenceFile, ReadsOfOneOpenFileByManyThreadsAreEachWhole) {
  World world;
  std::atomic<int> made = 0;
  ASSERT_TRUE(world.proc
                  ->AddFile(nullptr, "counter", {},
                            std::make_unique<proc::SequenceFile>(
                                [&made]() -> Result<proc::SharedText> {
                                  return std::make_shared<const std::string>(
                                      100,
                                      static_cast<char>('a' + ++made % 26));
                                }))
                  .has_value());
  const auto handle = world.Open("/proc/counter");
  ASSERT_TRUE(handle.has_value());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 200; ++j) {
        const auto text = world.Read(*handle);
        ASSERT_TRUE(text.has_value());
        EXPECT_EQ(*text, std::string(100, (*text)[0]));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
}

WorldOptions WithSessionEntries() {
  WorldOptions options;
  options.session_entries = true;
  return options;
}

std::string StatusPath(const vfs::Session& session) {
  return fmt::format("/proc/{}/status", session.number());
}

TEST(SessionEntries, StatusTellsOfTheSession) {
  World world(WithSessionEntries());
  const vfs::SessionRef session =
      world.OpenSession(1000, 100, {7, 5}, "build worker");
  const auto handle = world.Open(*session, "/proc");
  ASSERT_TRUE(handle.has_value());
  const auto text = world.ReadAll(StatusPath(*session));
  EXPECT_EQ(text, fmt::format("Name:\tbuild worker\n"
                              "Session:\t{}\n"
                              "Uid:\t1000\n"
                              "Gid:\t100\n"
                              "Groups:\t5 7\n"
                              "Umask:\t0022\n"
                              "Handles:\t1\n"
                              "HandlesLimit:\t65536\n"
                              "LeaseMilliseconds:\t60000\n"
                              "OpenedSeconds:\t{}\n"
                              "ErrorsInBand:\t0\n",
                              session->number(),
                              absl::ToUnixSeconds(session->opened())));
}

TEST(SessionEntries, SecretIdIsNowhere) {
  World world(WithSessionEntries());
  const vfs::SessionRef session = world.OpenSession(1000, 100);
  const auto text = world.ReadAll(StatusPath(*session));
  ASSERT_TRUE(text.has_value());
  std::vector<std::string> told = world.Names("/proc");
  told.push_back(*text);
  for (const std::string& item : told) {
    EXPECT_THAT(item, Not(HasSubstr(fmt::format("{}", session->id()))));
    EXPECT_THAT(item, Not(HasSubstr(fmt::format("{:x}", session->id()))));
  }
}

TEST(SessionEntries, OnlyTheOwnerReadsTheStatus) {
  World world(WithSessionEntries());
  const vfs::SessionRef owner = world.OpenSession(1000, 100);
  const vfs::SessionRef other = world.OpenSession(1001, 100);
  const auto directory = world.Stat(fmt::format("/proc/{}", owner->number()));
  ASSERT_TRUE(directory.has_value());
  EXPECT_EQ(directory->mode, vfs::linux_abi::kSIfdir | 0555U);
  EXPECT_EQ(directory->uid, 1000U);
  EXPECT_EQ(directory->gid, 100U);
  const auto status = world.Stat(StatusPath(*owner));
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->mode, vfs::linux_abi::kSIfreg | 0400U);
  EXPECT_EQ(status->uid, 1000U);
  EXPECT_EQ(world.Open(*other, StatusPath(*owner)), Fail(Errno::kEACCES));
  EXPECT_TRUE(world.Open(*owner, StatusPath(*owner)).has_value());
}

TEST(SessionEntries, EndWithTheirSession) {
  World world(WithSessionEntries());
  vfs::SessionRef session = world.OpenSession(1000, 100);
  const std::string path = StatusPath(*session);
  const auto handle = world.Open(path);
  ASSERT_TRUE(handle.has_value());
  EXPECT_TRUE(world.Read(*handle).has_value());
  EXPECT_TRUE(world.sessions.Close(session->id(), nullptr));
  session.reset();
  EXPECT_EQ(world.Read(*handle), Fail(Errno::kEIO));
  EXPECT_EQ(world.Open(path), Fail(Errno::kENOENT));
  EXPECT_THAT(world.Names("/proc"), ::testing::ElementsAre(fmt::format(
                                        "{}", world.session->number())));
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
}

TEST(SessionEntries, EndWithWhatIsMountedOnThem) {
  World world(WithSessionEntries());
  const vfs::SessionRef session = world.OpenSession(1000, 100);
  const std::string path = fmt::format("/proc/{}", session->number());
  const size_t mounts = world.vfs.mounts.size();
  ASSERT_EQ(
      vfs::MountAt(world.vfs, path, std::make_shared<mem::MemFileSystem>(), {}),
      Errno::kOk);
  EXPECT_EQ(world.vfs.mounts.size(), mounts + 1);
  EXPECT_TRUE(world.sessions.Close(session->id(), nullptr));
  EXPECT_EQ(world.vfs.mounts.size(), mounts);
}

TEST(SessionEntries, OfASessionThatReadsItsOwnStatusAndEnds) {
  World world(WithSessionEntries());
  const vfs::SessionRef session = world.OpenSession(1000, 100);
  const auto handle = world.Open(*session, StatusPath(*session));
  ASSERT_TRUE(handle.has_value());
  EXPECT_TRUE(world.Read(*session, *handle).has_value());
  uint32_t closed = 0;
  EXPECT_TRUE(world.sessions.Close(session->id(), &closed));
  EXPECT_EQ(closed, 1U);
}

TEST(SessionEntries, ComeAndGoUnderReaders) {
  World world(WithSessionEntries());
  std::atomic<bool> stop = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        for (const std::string& name : world.Names("/proc")) {
          const auto text = world.ReadAll(fmt::format("/proc/{}/status", name));
          if (text.has_value()) {
            EXPECT_THAT(*text, HasSubstr("Session:\t" + name + "\n"));
          } else {
            EXPECT_TRUE(text.error() == Errno::kENOENT ||
                        text.error() == Errno::kEIO)
                << ErrnoName(text.error());
          }
        }
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    const vfs::SessionRef session = world.OpenSession(1000, 100);
    std::this_thread::yield();
    EXPECT_TRUE(world.sessions.Close(session->id(), nullptr));
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace vfsd
