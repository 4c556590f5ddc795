// C1, C2, C5, C6: who owns the walk's reference when an open takes it over (the
// fast path open-consume), whatever comes out. C3 and C4 are in mount_test.cc,
// C7 is here and, for longer, in tests/stress.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/vfs/namespace_link.h"
#include "server/vfs/open.h"
#include "server/vfs/synthetic_file.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT

// A synthetic file whose open does what the test says. That is the only way to
// an early error after O_TRUNC's write access is taken.
class ScriptedFile final : public SyntheticFile {
 public:
  struct Script {
    Errno open_error = Errno::kOk;
    std::function<void()> on_open = [] {};
    int opened = 0;
    int released = 0;
  };
  explicit ScriptedFile(Script& script) : script_(script) {}

  Errno Open(File&) override {
    script_.on_open();
    if (script_.open_error == Errno::kOk) ++script_.opened;
    return script_.open_error;
  }
  Result<size_t> Read(File&, uint64_t, std::span<char>) override { return 0; }
  void Release(File&) override { ++script_.released; }

 private:
  Script& script_;
};

enum class Outcome { kOk, kEarlyError, kLateError };
constexpr Outcome kOutcomes[] = {Outcome::kOk, Outcome::kEarlyError,
                                 Outcome::kLateError};

class OpenConsumeTest : public VariantTest {
 protected:
  ~OpenConsumeTest() override { Stop(); }  // before the script goes

  // A regular file with a size, whose opens are scripted.
  void CreateScripted(const Process& p, std::string_view directory,
                      std::string_view name) {
    Inode::Init init;
    init.mode = kSIfreg | 0666;
    init.ino = 4711;
    init.size = 7;
    init.synthetic = std::make_unique<ScriptedFile>(script_);
    const PinnedPath at = Pin(p, directory);
    ASSERT_EQ(
        CreateChild(at.mount().file_system(), at.inode(), name,
                    PinnedInode::Adopt(
                        std::make_unique<Inode>(std::move(init)).release())),
        Errno::kOk);
  }

  // O_DIRECT on a synthetic file fails late.
  uint32_t FlagsFor(Outcome outcome, bool truncate) {
    script_.open_error =
        outcome == Outcome::kEarlyError ? Errno::kEIO : Errno::kOk;
    return kORdWr | (truncate ? kOTrunc : 0U) |
           (outcome == Outcome::kLateError ? kODirect : 0U);
  }
  static Errno ErrorFor(Outcome outcome) {
    switch (outcome) {
      case Outcome::kOk:
        return Errno::kOk;
      case Outcome::kEarlyError:
        return Errno::kEIO;
      case Outcome::kLateError:
        return Errno::kEINVAL;
    }
    return Errno::kOk;
  }

  ScriptedFile::Script script_;
};

// C1, for open(2): exactly one reference to each part while the file is open,
// none after any failure.
TEST_P(OpenConsumeTest, C1OpenOwnsOneReferenceIffItSucceeds) {
  const Process p = Start();
  CreateScripted(p, "/", "f");
  const PinnedPath path = Pin(p, "/f");
  for (const Outcome outcome : kOutcomes) {
    for (const bool truncate : {false, true}) {
      SCOPED_TRACE(testing::Message() << "outcome " << static_cast<int>(outcome)
                                      << (truncate ? ", O_TRUNC" : ""));
      {
        sync::SeqLockWriter writer(path.inode().attribute_lock);
        path.inode().SetSize(7);
      }
      script_ = {};
      const uint32_t flags = FlagsFor(outcome, truncate);
      const uint32_t inode_before = path.inode().references.Read();
      const int64_t mount_before = path.mount().references();
      const int64_t writers_before = path.mount().writers();
      const int64_t opens_before = vfs().files.open_events();
      const int64_t closes_before = vfs().files.close_events();
      const int64_t hits_before = vfs().fast_paths.hits(FastPath::kOpenConsume);
      const int64_t general_before =
          vfs().fast_paths.general(FastPath::kOpenConsume);

      const Result<Handle> handle = p.Open("/f", flags);
      EXPECT_EQ(Process::ErrorOf(handle), ErrorFor(outcome));
      const bool opened = outcome == Outcome::kOk;
      EXPECT_EQ(path.inode().references.Read(),
                inode_before + (opened ? 1 : 0));
      EXPECT_EQ(path.mount().references(), mount_before + (opened ? 1 : 0));
      EXPECT_EQ(path.mount().writers(), writers_before + (opened ? 1 : 0));
      EXPECT_EQ(path.inode().size(), opened && truncate ? 0U : 7U);
      EXPECT_EQ(vfs().files.open_events() - opens_before, opened ? 1 : 0);
      if (opened) {
        EXPECT_EQ(p.Close(*handle), Errno::kOk);
      }
      const bool was_opened = outcome != Outcome::kEarlyError;
      EXPECT_EQ(vfs().files.close_events() - closes_before, was_opened ? 1 : 0);
      EXPECT_EQ(script_.opened, was_opened ? 1 : 0);
      EXPECT_EQ(script_.released, script_.opened);
      EXPECT_EQ(path.inode().references.Read(), inode_before);
      EXPECT_EQ(path.mount().references(), mount_before);
      EXPECT_EQ(path.mount().writers(), writers_before);
      EXPECT_EQ(vfs().fast_paths.hits(FastPath::kOpenConsume) - hits_before,
                fast() ? 1 : 0);
      EXPECT_EQ(
          vfs().fast_paths.general(FastPath::kOpenConsume) - general_before,
          fast() ? 0 : 1);
    }
  }
}

// C1, for those who open a path that they have (dentry_open, and finish_open,
// whose caller keeps its own reference too) and for the one who gives it away.
TEST_P(OpenConsumeTest, C1TheFileOwnsWhatItTookUnlessTheErrorWasEarly) {
  const Process p = Start();
  CreateScripted(p, "/", "f");
  const PinnedPath path = Pin(p, "/f");
  const Caller caller = p.caller();
  const uint32_t inode_before = path.inode().references.Read();
  const int64_t mount_before = path.mount().references();
  for (const Outcome outcome : kOutcomes) {
    for (const bool truncate : {false, true}) {
      for (const bool consume : {false, true}) {
        SCOPED_TRACE(testing::Message()
                     << "outcome " << static_cast<int>(outcome)
                     << (truncate ? ", O_TRUNC" : "")
                     << (consume ? ", consumed" : ", kept"));
        script_ = {};
        File* const file = *vfs().files.AllocateEmpty(
            FlagsFor(outcome, truncate), caller.credentials);
        PinnedPath own = PinnedPath::Share(path.view());
        FileOpener opener(vfs(), caller);
        const Errno error = consume ? opener.Open(std::move(own), *file)
                                    : opener.Open(std::as_const(own), *file);
        EXPECT_EQ(error, ErrorFor(outcome));
        // What was given away is gone, error or not; what was kept is there.
        EXPECT_EQ(static_cast<bool>(own), !consume);  // NOLINT: specified
        const bool owns = outcome != Outcome::kEarlyError;
        EXPECT_EQ(file->HasMode(kFileOpened), owns);
        EXPECT_EQ(file->path(), owns ? path.view() : PathView());
        const uint32_t kept = consume ? 0 : 1;
        EXPECT_EQ(path.inode().references.Read(),
                  inode_before + (owns ? 1 : 0) + kept);
        EXPECT_EQ(path.mount().references(),
                  mount_before + (owns ? 1 : 0) + kept);
        EXPECT_EQ(path.mount().writers(), owns ? 1 : 0);
        if (owns) {
          vfs().files.Put(file);
          FileAccounting::DrainDeferred();
        } else {
          EXPECT_FALSE(file->HasMode(kFileWriter));
          vfs().files.ReleaseEmpty(file);
        }
        own.Reset();
        EXPECT_EQ(path.inode().references.Read(), inode_before);
        EXPECT_EQ(path.mount().references(), mount_before);
        EXPECT_EQ(path.mount().writers(), 0);
      }
    }
  }
}

// C2: the mount is detached lazily in the middle of the open, so that the
// open's own references are its last. It must live until its write access is
// given back. (A version of the kernel's change that relied on the consumed
// reference for that was a use after free.)
TEST_P(OpenConsumeTest, C2TheMountLivesUntilItsWriteAccessIsGivenBack) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/m"), Errno::kOk);
  for (const Outcome outcome : kOutcomes) {
    for (const bool truncate : {false, true}) {
      SCOPED_TRACE(testing::Message() << "outcome " << static_cast<int>(outcome)
                                      << (truncate ? ", O_TRUNC" : ""));
      sync::RcuBarrier();
      const int64_t mounts = live_objects::Count(ObjectKind::kMount);
      Mount* const mount = MountMem(p, "/m");
      script_ = {};
      CreateScripted(p, "/m", "f");
      const uint32_t flags = FlagsFor(outcome, truncate);
      script_.on_open = [&] {
        EXPECT_GE(mount->writers(), truncate ? 2 : 1);
        EXPECT_EQ(vfs().mounts.Unmount(*mount, /*lazy=*/true), Errno::kOk);
      };
      const Result<Handle> handle = p.Open("/m/f", flags);
      EXPECT_EQ(Process::ErrorOf(handle), ErrorFor(outcome));
      sync::RcuBarrier();
      EXPECT_EQ(live_objects::Count(ObjectKind::kMount),
                mounts + (handle.has_value() ? 1 : 0));
      if (handle.has_value()) {
        EXPECT_TRUE(p.StatHandle(*handle).has_value());
        EXPECT_EQ(p.Close(*handle), Errno::kOk);
      }
      sync::RcuBarrier();
      EXPECT_EQ(live_objects::Count(ObjectKind::kMount), mounts);
      EXPECT_EQ(Process::ErrorOf(p.Stat("/m/f")), Errno::kENOENT);
    }
  }
}

// C5: who opens without giving the path away (O_PATH does) has it afterwards.
TEST_P(OpenConsumeTest, C5AnOPathOpenDoesNotConsume) {
  const Process p = Start();
  ASSERT_EQ(p.Create("/f"), Errno::kOk);
  const PinnedPath path = Pin(p, "/f");
  const uint32_t inode_before = path.inode().references.Read();
  const int64_t before = vfs().fast_paths.hits(FastPath::kOpenConsume) +
                         vfs().fast_paths.general(FastPath::kOpenConsume);
  const int64_t opens_before = vfs().files.open_events();
  const Result<Handle> handle = p.Open("/f", kOPath | kORdWr);
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(path.inode().references.Read(), inode_before + 1);
  EXPECT_EQ(path.mount().writers(), 0);  // counts nothing
  EXPECT_EQ(vfs().fast_paths.hits(FastPath::kOpenConsume) +
                vfs().fast_paths.general(FastPath::kOpenConsume),
            before);
  EXPECT_EQ(p.Close(*handle), Errno::kOk);
  EXPECT_EQ(path.inode().references.Read(), inode_before);
  EXPECT_EQ(vfs().files.open_events(), opens_before);  // nobody is told
}

// C6: a file that the open itself made: no permission needed, nothing
// truncated.
TEST_P(OpenConsumeTest, C6ACreatedFileIsOpenedWhateverItsMode) {
  const Process root = Start();
  ASSERT_EQ(root.ChangeMode("/", 0777), Errno::kOk);
  const Process user = Start(1000, 1000);
  const int64_t before = vfs().fast_paths.hits(FastPath::kOpenConsume);
  const Result<Handle> handle =
      user.Open("/f", kOCreat | kOExcl | kOTrunc | kORdWr, 0000);
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(vfs().fast_paths.hits(FastPath::kOpenConsume) - before,
            fast() ? 1 : 0);
  EXPECT_EQ(user.StatHandle(*handle)->mode, kSIfreg);
  EXPECT_EQ(vfs().top().writers(),
            1);  // the file's own; O_TRUNC's is not taken
  const PinnedPath path = Pin(root, "/f");
  EXPECT_EQ(path.inode().references.Read(), 3U);  // name, file, this one
  EXPECT_EQ(user.TryOpen("/f", kORdWr), Errno::kEACCES);
  EXPECT_EQ(user.Close(*handle), Errno::kOk);
  EXPECT_EQ(path.inode().references.Read(), 2U);
  EXPECT_EQ(vfs().top().writers(), 0);
}

// C7: opens, closes, renames and removals of the same names at once; every
// reference is back afterwards.
TEST_P(OpenConsumeTest, C7ReferencesAreBackAfterConcurrentChanges) {
  const Process main = Start();
  const int64_t mount_before = vfs().top().references();
  const PinnedPath root = Pin(main, "/");
  const uint32_t root_before = root.inode().references.Read();
  {
    std::vector<Process> processes;
    for (int t = 0; t < 4; ++t) processes.push_back(Start());
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&p = processes[static_cast<size_t>(t)], t] {
        for (int i = 0; i < 2000; ++i) {
          const std::string name = "/n" + std::to_string((i + t) % 3);
          const std::string other = "/n" + std::to_string((i / 3 + t) % 3);
          switch ((i + t) % 4) {
            case 0:
              p.TryOpen(name, kOCreat | kORdWr);
              break;
            case 1:
              p.TryOpen(name, kORdOnly | kOTrunc);
              break;
            case 2:
              p.Rename(name, other);
              break;
            default:
              p.Unlink(name);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const Process& p : processes)
      sessions().Close(p.session().id(), nullptr);
  }
  for (const char* const name : {"/n0", "/n1", "/n2"}) {
    if (!main.Stat(name).has_value()) continue;
    EXPECT_EQ(Pin(main, name).inode().references.Read(),
              2U);  // name, and Pin's
    EXPECT_EQ(main.Unlink(name), Errno::kOk);
  }
  sync::RcuBarrier();
  EXPECT_EQ(vfs().top().references(), mount_before + 1);
  EXPECT_EQ(root.inode().references.Read(), root_before);
  EXPECT_EQ(vfs().top().writers(), 0);
  EXPECT_EQ(vfs().files.nr_files(), 0);
}

INSTANTIATE_TEST_SUITE_P(Variants, OpenConsumeTest,
                         testing::ValuesIn(kCoreVariants), CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
