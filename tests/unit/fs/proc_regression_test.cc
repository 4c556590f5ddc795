// Defects that Linux's proc file system has had around removal and permanent
// entries, each as a test that would have found it.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/fs/proc/fixed_file.h"
#include "tests/unit/fs/probe_file.h"
#include "tests/unit/fs/world.h"

namespace vfsd {
namespace {

using ::testing::Contains;
using testing::kHooked;
using testing::kPlain;
using testing::kProbeContent;
using ::testing::Not;
using testing::Probe;
using testing::ProbeFile;
using testing::World;
using testing::WorldOptions;

proc::CoreFile CoreProbe(const std::string& path) {
  return {.path = path,
          .attributes = {},
          .provider = std::make_unique<ProbeFile>(
              std::make_shared<Probe>(), kPlain | proc::kProviderPermanent)};
}

// /proc/permanent, and /proc/driver/bus/permanent below two directories that
// are not permanent themselves.
WorldOptions WithPermanents() {
  WorldOptions options;
  options.core_files.push_back(CoreProbe("permanent"));
  options.core_files.push_back(CoreProbe("driver/bus/permanent"));
  return options;
}

std::shared_ptr<Probe> Add(World& world, const proc::ProcEntryRef& parent,
                           const char* name, uint8_t flags = kPlain) {
  auto probe = std::make_shared<Probe>();
  EXPECT_TRUE(
      world.proc
          ->AddFile(parent, name, {}, std::make_unique<ProbeFile>(probe, flags))
          .has_value());
  return probe;
}

// 3cd4ad42ca7c returned from a refused removal with the tree's lock held.
TEST(ProcRegression, RefusedSubtreeRemovalLeavesTheTreeUsable) {
  World world(WithPermanents());
  EXPECT_EQ(world.proc->RemoveSubtree(nullptr, "driver"), Errno::kEINVAL);
  EXPECT_EQ(world.proc->Remove(nullptr, "permanent"), Errno::kEPERM);
  // From another thread, which would wait for ever for a lock that is held.
  std::thread([&] {
    EXPECT_NE(world.proc->Find(nullptr, "driver"), nullptr);
    const auto directory = world.proc->AddDirectory(nullptr, "added");
    ASSERT_TRUE(directory.has_value());
    Add(world, *directory, "file");
    EXPECT_EQ(world.ReadAll("/proc/added/file"), std::string(kProbeContent));
    EXPECT_EQ(world.proc->RemoveSubtree(nullptr, "added"), Errno::kOk);
  }).join();
}

// f4bf74d82915: the loop over a subtree looked at its root's flag again and
// again, so that a permanent entry below was removed.
TEST(ProcRegression, SubtreeWithAPermanentGrandchildIsRefusedWhole) {
  World world(WithPermanents());
  const auto driver = world.proc->Find(nullptr, "driver");
  ASSERT_NE(driver, nullptr);
  const auto sibling = Add(world, driver, "sibling");
  EXPECT_EQ(world.proc->RemoveSubtree(nullptr, "driver"), Errno::kEINVAL);
  EXPECT_EQ(world.proc->RemoveSubtree(driver, "bus"), Errno::kEINVAL);
  EXPECT_EQ(world.proc->refused_removals(), 2);
  EXPECT_EQ(world.ReadAll("/proc/driver/bus/permanent"),
            std::string(kProbeContent));
  // Refused before anything went.
  EXPECT_FALSE(sibling->ended);
  EXPECT_EQ(world.ReadAll("/proc/driver/sibling"), std::string(kProbeContent));
  EXPECT_EQ(world.proc->Remove(driver, "sibling"), Errno::kOk);
}

// CVE-2025-21999 (654b33ada4ab): a lookup that had found the entry looked at
// its operations after their module was gone.
TEST(ProcRegression, LookupAndStatOfARemovedEntryDoNotTouchTheProvider) {
  World world;
  const auto probe = Add(world, nullptr, "removable", kHooked);
  const auto handle = world.Open("/proc/removable");
  ASSERT_TRUE(handle.has_value());
  const auto entry = world.proc->Find(nullptr, "removable");
  EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
  ASSERT_TRUE(probe->ended);  // the provider's memory is gone with it
  EXPECT_TRUE(world.StatHandle(*handle).has_value());
  EXPECT_TRUE(entry->seekable());
  EXPECT_FALSE(entry->permanent());
  EXPECT_EQ(world.Stat("/proc/removable"), Fail(Errno::kENOENT));
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
}

TEST(ProcRegression, LookupsThatRaceWithRemovalDoNotTouchTheProvider) {
  World world;
  std::atomic<bool> stop = false;
  std::vector<std::thread> lookers;
  for (int i = 0; i < 2; ++i) {
    lookers.emplace_back([&] {
      while (!stop) {
        const auto stat = world.Stat("/proc/removable");
        if (stat.has_value()) {
          EXPECT_EQ(stat->mode, testing::abi::kSIfreg | 0444U);
        } else {
          EXPECT_EQ(stat.error(), Errno::kENOENT);
        }
        const auto page = world.ReadDirectory("/proc");
        EXPECT_TRUE(page.has_value());
      }
    });
  }
  for (int i = 0; i < 500; ++i) {
    const auto probe = Add(world, nullptr, "removable");
    std::this_thread::yield();
    EXPECT_EQ(world.proc->Remove(nullptr, "removable"), Errno::kOk);
    EXPECT_TRUE(probe->ended);
  }
  stop = true;
  for (std::thread& looker : lookers) looker.join();
}

// ff7ec8dc1b64: whether a file can be positioned was asked of its operations.
TEST(ProcRegression, SeekabilityIsTheEntrysNotTheProviders) {
  World world;
  Add(world, nullptr, "seekable", kPlain);
  Add(world, nullptr, "stream", proc::kProviderReads);
  const auto seekable = world.Open("/proc/seekable");
  const auto stream = world.Open("/proc/stream");
  ASSERT_TRUE(seekable.has_value() && stream.has_value());
  EXPECT_EQ(world.Read(*seekable, 3), "3456789");
  EXPECT_EQ(world.Read(*stream, 0), std::string(kProbeContent));
  EXPECT_EQ(world.Read(*stream, 3), Fail(Errno::kESPIPE));
  EXPECT_EQ(world.proc->Remove(nullptr, "seekable"), Errno::kOk);
  EXPECT_EQ(world.proc->Remove(nullptr, "stream"), Errno::kOk);
  // The providers are gone, and the difference still stands.
  EXPECT_EQ(world.Read(*seekable, 3), Fail(Errno::kEIO));
  EXPECT_EQ(world.Read(*stream, 3), Fail(Errno::kESPIPE));
  EXPECT_EQ(world.Close(*seekable), Errno::kOk);
  EXPECT_EQ(world.Close(*stream), Errno::kOk);
}

// 2ce3d282bd50: one of several ways of registering forgot the flags, and its
// files could not be positioned.
TEST(ProcRegression, FilesOfEveryWayOfRegistrationCanBePositioned) {
  WorldOptions options = WithPermanents();
  options.session_entries = true;
  World world(std::move(options));
  Add(world, nullptr, "dynamic");
  const auto directory = world.proc->AddDirectory(nullptr, "directory");
  ASSERT_TRUE(directory.has_value());
  Add(world, *directory, "dynamic");
  for (const std::string& path :
       {std::string("/proc/permanent"),
        std::string("/proc/driver/bus/permanent"), std::string("/proc/dynamic"),
        std::string("/proc/directory/dynamic"),
        "/proc/" + std::to_string(world.session->number()) + "/status"}) {
    const auto handle = world.Open(path);
    ASSERT_TRUE(handle.has_value()) << path;
    const auto whole = world.Read(*handle);
    ASSERT_TRUE(whole.has_value()) << path;
    EXPECT_EQ(world.Read(*handle, 4), whole->substr(4)) << path;
    EXPECT_EQ(world.Close(*handle), Errno::kOk);
  }
}

// 0ce9398aa083: a directory's operations were read as if they were a file's.
TEST(ProcRegression, DirectoriesHaveNoFilesFlags) {
  World world(WithPermanents());
  const auto added = world.proc->AddDirectory(nullptr, "directory");
  ASSERT_TRUE(added.has_value());
  for (const auto& entry : {*added, world.proc->Find(nullptr, "driver")}) {
    ASSERT_NE(entry, nullptr);
    EXPECT_TRUE(entry->IsDirectory());
    EXPECT_FALSE(entry->permanent());
    EXPECT_FALSE(entry->seekable());
  }
  EXPECT_EQ(world.proc->Remove(nullptr, "directory"), Errno::kOk);
}

// 623bb26127fb: a reader of the directory went on from an entry that had been
// removed meanwhile.
TEST(ProcRegression, ReaddirResumedBehindRemovedEntriesFindsOnlyLiveOnes) {
  World world;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    Add(world, nullptr, name);
  }
  const auto first = world.ReadDirectory("/proc", 0, 2);
  ASSERT_TRUE(first.has_value());
  ASSERT_EQ(first->entries.size(), 2U);
  ASSERT_NE(first->next_cursor, 0U);
  // What was returned last, what the cursor stands at, and the one behind.
  for (const char* name : {"b", "c", "d"}) {
    EXPECT_EQ(world.proc->Remove(nullptr, name), Errno::kOk);
  }
  sync::RcuBarrier();  // their memory is gone
  const auto rest = world.ReadDirectory("/proc", first->next_cursor);
  ASSERT_TRUE(rest.has_value());
  ASSERT_EQ(rest->entries.size(), 1U);
  EXPECT_EQ(rest->entries[0].name, "e");
  EXPECT_EQ(rest->next_cursor, 0U);
}

// A driver removed a name from a parent that it had failed to make, which is
// the root.
TEST(ProcRegression, RemovalWithoutAParentDoesNotTakeAPermanentEntry) {
  World world(WithPermanents());
  const proc::ProcEntryRef failed_to_make;
  EXPECT_EQ(world.proc->Remove(failed_to_make, "permanent"), Errno::kEPERM);
  EXPECT_EQ(world.proc->RemoveSubtree(failed_to_make, "permanent"),
            Errno::kEINVAL);
  EXPECT_EQ(world.proc->refused_removals(), 2);
  EXPECT_EQ(world.ReadAll("/proc/permanent"), std::string(kProbeContent));
}

// A module that marks its entry permanent would have it used after its end.
TEST(ProcRegression, DynamicRegistrationsCannotClaimToBePermanent) {
  World world;
  const auto probe =
      Add(world, nullptr, "claims", kHooked | proc::kProviderPermanent);
  const auto entry = world.proc->Find(nullptr, "claims");
  ASSERT_NE(entry, nullptr);
  EXPECT_FALSE(entry->permanent());
  EXPECT_EQ(world.ReadAll("/proc/claims"), std::string(kProbeContent));
  EXPECT_GT(world.counters.in_use_changes.Sum(), 0);
  EXPECT_EQ(world.hits(), 0);
  EXPECT_EQ(world.proc->Remove(nullptr, "claims"), Errno::kOk);
  EXPECT_TRUE(probe->ended);
}

TEST(ProcFileSystem, RefusesNamesThatAreTakenOrNone) {
  World world(WithPermanents());
  const auto add = [&world](std::string_view name) {
    const auto entry = world.proc->AddFile(
        nullptr, name, {}, std::make_unique<proc::FixedFile>("x"));
    return entry.has_value() ? Errno::kOk : entry.error();
  };
  EXPECT_EQ(add("permanent"), Errno::kEEXIST);
  EXPECT_EQ(add(""), Errno::kEINVAL);
  EXPECT_EQ(add("."), Errno::kEINVAL);
  EXPECT_EQ(add(".."), Errno::kEINVAL);
  EXPECT_EQ(add("a/b"), Errno::kEINVAL);
  EXPECT_EQ(add(std::string_view("a\0b", 3)), Errno::kEINVAL);
  EXPECT_EQ(add(std::string(256, 'n')), Errno::kEINVAL);
  EXPECT_EQ(add(std::string(255, 'n')), Errno::kOk);
  EXPECT_EQ(
      world.proc->AddDirectory(world.proc->Find(nullptr, "permanent"), "below")
          .error(),
      Errno::kENOTDIR);
}

TEST(ProcFileSystem, RemovesSubtreesAndNothingIsAddedBelowThem) {
  World world;
  const auto top = world.proc->AddDirectory(nullptr, "top");
  ASSERT_TRUE(top.has_value());
  const auto middle = world.proc->AddDirectory(*top, "middle");
  ASSERT_TRUE(middle.has_value());
  const auto file = Add(world, *top, "file", kHooked);
  const auto deep = Add(world, *middle, "deep", kHooked);
  const auto handle = world.Open("/proc/top/middle/deep");
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(world.Stat("/proc")->nlink, 3U);
  EXPECT_EQ(world.proc->Remove(nullptr, "top"), Errno::kENOTEMPTY);
  EXPECT_EQ(world.proc->RemoveSubtree(nullptr, "top"), Errno::kOk);
  EXPECT_TRUE(file->ended);
  EXPECT_TRUE(deep->ended);
  EXPECT_EQ(deep->releases, 1);
  EXPECT_THAT(world.Names("/proc"), Not(Contains("top")));
  EXPECT_EQ(world.Stat("/proc")->nlink, 2U);
  EXPECT_EQ(world.Stat("/proc/top/file"), Fail(Errno::kENOENT));
  EXPECT_EQ(world.proc->AddDirectory(*middle, "late").error(), Errno::kENOENT);
  EXPECT_EQ(world.proc->RemoveSubtree(nullptr, "top"), Errno::kENOENT);
  EXPECT_EQ(world.Close(*handle), Errno::kOk);
  // The name is free again.
  EXPECT_TRUE(world.proc->AddDirectory(nullptr, "top").has_value());
}

TEST(ProcFileSystem, ClientsCannotChangeItsNames) {
  World world(WithPermanents());
  const vfs::Caller caller(*world.session);
  vfs::UnlinkOperation unlink;
  unlink.path = "/proc/permanent";
  EXPECT_EQ(world.executor.Execute(caller, unlink).error(), Errno::kEPERM);
  unlink.path = "/proc/driver";
  unlink.flags = testing::abi::kAtRemovedir;
  EXPECT_EQ(world.executor.Execute(caller, unlink).error(), Errno::kEPERM);
  // A name that is not there is ENOENT to whoever would make it, as in Linux's
  // procfs.
  EXPECT_EQ(
      world.Open("/proc/new", testing::abi::kOCreat | testing::abi::kOWrOnly)
          .error(),
      Errno::kENOENT);
  vfs::MakeDirectoryOperation mkdir;
  mkdir.path = "/proc/new";
  EXPECT_EQ(world.executor.Execute(caller, mkdir).error(), Errno::kENOENT);
  mkdir.path = "/proc/permanent";
  EXPECT_EQ(world.executor.Execute(caller, mkdir).error(), Errno::kEEXIST);
  vfs::RenameOperation rename;
  rename.old_path = "/proc/permanent";
  rename.new_path = "/proc/new";
  EXPECT_EQ(world.executor.Execute(caller, rename).error(), Errno::kENOENT);
  vfs::MakeDirectoryOperation make;
  make.path = "/proc/new";
  EXPECT_FALSE(world.executor.Execute(caller, make).has_value());
  EXPECT_EQ(world.ReadAll("/proc/permanent"), std::string(kProbeContent));
}

TEST(ProcFileSystem, LooksLikeProc) {
  World world(WithPermanents());
  const auto root = world.Stat("/proc");
  ASSERT_TRUE(root.has_value());
  EXPECT_EQ(root->mode, testing::abi::kSIfdir | 0555U);
  EXPECT_EQ(root->size, 0U);
  EXPECT_EQ(root->nlink, 3U);  // with driver
  EXPECT_EQ(root->mask & testing::abi::kStatxBtime, 0U);
  const auto file = world.Stat("/proc/permanent");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(file->mode, testing::abi::kSIfreg | 0444U);
  EXPECT_EQ(file->size, 0U);
  EXPECT_EQ(file->blocks, 0U);
  EXPECT_EQ(file->nlink, 1U);
}

}  // namespace
}  // namespace vfsd
