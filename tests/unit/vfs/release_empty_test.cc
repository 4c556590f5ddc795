// R1 to R9: the release of a file that was never opened (the fast path
// release-empty) and its general path, the deferred put.
//
// Not as in the kernel:
//  - R3 has no ETXTBSY: vfsd runs no executables.
//  - R5: vfsd has no backing files; what may become one is tested on
//    FileAccounting itself.
//  - R7: where the kernel allocates a new file for each attempt (RCU walk,
//    reference walk, revalidation), our one retry (the locked walk after the
//    lock-free one left) keeps the same EMPTY file: one allocation, one
//    release.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/vfs/open.h"
#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT

class ReleaseEmptyTest : public VariantTest {
 protected:
  // What an open that failed must leave as it was.
  struct Balance {
    int64_t nr_files;
    int64_t hooks_outstanding;
    int64_t mount_references;
    int64_t writers;
    int64_t live_files;
    long credential_uses;
    uint32_t handles;

    friend bool operator==(const Balance&, const Balance&) = default;
    friend void PrintTo(const Balance& b, std::ostream* out) {
      *out << "nr_files " << b.nr_files << ", hooks " << b.hooks_outstanding
           << ", mount " << b.mount_references << ", writers " << b.writers
           << ", live files " << b.live_files << ", credentials "
           << b.credential_uses << ", handles " << b.handles;
    }
  };
  Balance Read(const Process& p) {
    sync::RcuBarrier();
    return {vfs().files.nr_files(),
            hooks_.allocated - hooks_.freed,
            vfs().top().references(),
            vfs().top().writers(),
            live_objects::Count(ObjectKind::kFile),
            p.session().credentials().use_count(),
            p.session().files().open_handles()};
  }

  int64_t released() { return vfs().fast_paths.hits(FastPath::kReleaseEmpty); }
  int64_t general() {
    return vfs().fast_paths.general(FastPath::kReleaseEmpty);
  }
  int64_t deferred() { return vfs().files.deferred_total(); }

  // Opens that fail early: `count` of them since `released`, `general` and
  // `deferred` were read as given.
  void ExpectEarly(int64_t count, int64_t released_before,
                   int64_t general_before, int64_t deferred_before) {
    EXPECT_EQ(released() - released_before, fast() ? count : 0);
    EXPECT_EQ(general() - general_before, fast() ? 0 : count);
    EXPECT_EQ(deferred() - deferred_before, fast() ? 0 : count);
  }
};

TEST_P(ReleaseEmptyTest, R1FailedOpensLeaveNothingBehind) {
  const Process p = Start();
  const Balance before = Read(p);
  constexpr int kOpens = 1000;
  for (int i = 0; i < kOpens; ++i) {
    ASSERT_EQ(p.TryOpen("/missing", kORdOnly), Errno::kENOENT);
    // Not even for a moment: what is deferred is over before the answer.
    ASSERT_EQ(vfs().files.nr_files(), before.nr_files);
  }
  ExpectEarly(kOpens, 0, 0, 0);
  EXPECT_EQ(hooks_.allocated, kOpens);
  EXPECT_EQ(hooks_.freed, kOpens);
  EXPECT_EQ(vfs().files.open_events(), 0);
  EXPECT_EQ(vfs().files.close_events(), 0);
  EXPECT_EQ(Read(p), before);
}

TEST_P(ReleaseEmptyTest, R1TheFastPathNeedsNoGracePeriod) {
  const Process p = Start();
  sync::RcuBarrier();
  const int64_t files = live_objects::Count(ObjectKind::kFile);
  const sync::RcuReadSection section;  // none ends
  for (int i = 0; i < 100; ++i) {
    const Result<File*> file =
        vfs().files.AllocateEmpty(0, p.session().credentials());
    ASSERT_TRUE(file.has_value());
    vfs().files.ReleaseEmpty(*file);
    EXPECT_EQ(live_objects::Count(ObjectKind::kFile), files);
  }
}

// R2: O_DIRECT where it is not supported fails when the file is OPENED already.
TEST_P(ReleaseEmptyTest, R2ALateErrorGoesTheDeferredWay) {
  RestartVariant({}, {.no_direct_io = true});
  const Process p = Start();
  ASSERT_EQ(p.Create("/data"), Errno::kOk);
  ASSERT_EQ(p.Truncate("/data", 7), Errno::kOk);
  const Statx data = *p.Stat("/data");
  const Balance before = Read(p);
  const int64_t released_before = released();
  const int64_t general_before = general();
  const int64_t deferred_before = deferred();
  const int64_t opens_before = vfs().files.open_events();
  const int64_t closes_before = vfs().files.close_events();
  constexpr int kOpens = 200;
  for (int i = 0; i < kOpens; ++i) {
    // Not truncated.
    ASSERT_EQ(p.TryOpen("/data", kORdWr | kOTrunc | kODirect), Errno::kEINVAL);
  }
  EXPECT_EQ(p.Stat("/data")->size, 7U);
  EXPECT_EQ(p.Stat("/data")->mtime, data.mtime);
  // Created all the same.
  EXPECT_EQ(p.TryOpen("/new", kOCreat | kORdWr | kODirect), Errno::kEINVAL);
  EXPECT_TRUE(p.Stat("/new").has_value());
  EXPECT_EQ(p.TryOpen("/excl", kOCreat | kOExcl | kORdWr | kODirect),
            Errno::kEINVAL);
  EXPECT_TRUE(p.Stat("/excl").has_value());
  EXPECT_EQ(released(), released_before);
  EXPECT_EQ(general(), general_before);
  EXPECT_EQ(deferred() - deferred_before, kOpens + 2);
  // Closed without having been opened, as far as a watcher can see.
  EXPECT_EQ(vfs().files.open_events(), opens_before);
  EXPECT_EQ(vfs().files.close_events() - closes_before, kOpens + 2);
  EXPECT_EQ(Read(p), before);
  EXPECT_EQ(vfs().mounts.SetReadOnly(vfs().top(), true), Errno::kOk);
}

TEST_P(ReleaseEmptyTest, R2APolicyThatRefusesAfterTheOpenIsALateError) {
  const Process p = Start();
  ASSERT_EQ(p.Create("/data"), Errno::kOk);
  ASSERT_EQ(p.Truncate("/data", 7), Errno::kOk);
  const Balance before = Read(p);
  const int64_t deferred_before = deferred();
  const int64_t released_before = released() + general();
  hooks_.post_open_error = Errno::kEACCES;
  EXPECT_EQ(p.TryOpen("/data", kORdWr | kOTrunc), Errno::kEACCES);
  EXPECT_EQ(p.TryOpen("/new", kORdWr | kOCreat), Errno::kEACCES);
  // O_PATH is not asked for.
  EXPECT_EQ(p.TryOpen("/data", kOPath), Errno::kOk);
  hooks_.post_open_error = Errno::kOk;
  EXPECT_EQ(deferred() - deferred_before, 3);  // two late errors and a close
  EXPECT_EQ(released() + general(), released_before);
  EXPECT_EQ(p.Stat("/data")->size, 7U);
  EXPECT_TRUE(p.Stat("/new").has_value());
  EXPECT_EQ(Read(p), before);
}

TEST_P(ReleaseEmptyTest, R3EarlyErrorsAfterTheWalkGiveThePathBack) {
  const Process root = Start();
  const Process user = Start(1000, 1000);
  ASSERT_EQ(root.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(root.Create("/closed", 0600), Errno::kOk);
  ASSERT_EQ(root.Create("/open", 0666), Errno::kOk);
  ASSERT_EQ(root.MakeSymlink("open", "/link"), Errno::kOk);
  ASSERT_EQ(root.MakeNode("/socket", kSIfsock | 0666), Errno::kOk);
  ASSERT_EQ(root.MakeNode("/fifo", kSIfifo | 0666), Errno::kOk);
  ASSERT_EQ(root.MakeNode("/device", kSIfchr | 0666, MakeDevice(240, 0)),
            Errno::kOk);
  ASSERT_EQ(root.MakeDirectory("/ro"), Errno::kOk);
  Mount* const read_only = MountMem(root, "/ro");
  ASSERT_EQ(root.Create("/ro/f", 0666), Errno::kOk);
  ASSERT_EQ(vfs().mounts.SetReadOnly(*read_only, true), Errno::kOk);
  struct Row {
    const char* path;
    uint32_t flags;
    Errno error;
  };
  for (const Row& row : {
           Row{"/closed", kORdOnly, Errno::kEACCES},
           Row{"/closed", kOWrOnly | kOTrunc, Errno::kEACCES},
           Row{"/d", kOWrOnly, Errno::kEISDIR},
           Row{"/d", kORdOnly | kOTrunc, Errno::kEISDIR},
           Row{"/d", kOCreat | kORdOnly, Errno::kEISDIR},
           Row{"/open", kORdOnly | kODirectory, Errno::kENOTDIR},
           Row{"/open", kOCreat | kOExcl | kORdWr, Errno::kEEXIST},
           Row{"/open", kORdOnly | kONoatime, Errno::kEPERM},
           Row{"/link", kORdOnly | kONofollow, Errno::kELOOP},
           Row{"/socket", kORdOnly, Errno::kENXIO},
           Row{"/device", kORdWr, Errno::kENXIO},
           Row{"/fifo", kOWrOnly | kONonblock, Errno::kENXIO},
           Row{"/ro/f", kORdWr, Errno::kEROFS},
           Row{"/ro/f", kORdOnly | kOTrunc, Errno::kEROFS},
           Row{"/new", kOCreat | kORdWr, Errno::kEACCES},
       }) {
    SCOPED_TRACE(testing::Message()
                 << row.path << " flags 0" << std::oct << row.flags);
    const bool exists = std::string(row.path) != "/new";
    PinnedPath pinned = exists ? Pin(root, row.path) : PinnedPath();
    const uint32_t references = exists ? pinned.inode().references.Read() : 0;
    const Balance before = Read(user);
    const int64_t mount_before = read_only->references();
    const int64_t released_before = released();
    const int64_t general_before = general();
    const int64_t deferred_before = deferred();
    const int64_t closes_before = vfs().files.close_events();
    for (int i = 0; i < 10; ++i)
      EXPECT_EQ(user.TryOpen(row.path, row.flags), row.error);
    ExpectEarly(10, released_before, general_before, deferred_before);
    EXPECT_EQ(vfs().files.close_events(), closes_before);
    EXPECT_EQ(Read(user), before);
    EXPECT_EQ(read_only->references(), mount_before);
    EXPECT_EQ(read_only->writers(), 0);
    if (exists) {
      EXPECT_EQ(pinned.inode().references.Read(), references);
    }
  }
}

TEST_P(ReleaseEmptyTest, R4AFileThatIsNotCountedIsNotUncounted) {
  const Process p = Start();
  const CredentialsRef& credentials = p.session().credentials();
  File* file = *vfs().files.AllocateEmpty(0, credentials, /*accounted=*/false);
  EXPECT_EQ(vfs().files.nr_files(), 0);
  vfs().files.ReleaseEmpty(file);
  EXPECT_EQ(vfs().files.nr_files(), 0);
  file = *vfs().files.AllocateEmpty(0, credentials, /*accounted=*/false);
  vfs().files.Put(file);
  FileAccounting::DrainDeferred();
  EXPECT_EQ(vfs().files.nr_files(), 0);
  EXPECT_EQ(hooks_.allocated, 2);
  EXPECT_EQ(hooks_.freed, 2);
}

TEST_P(ReleaseEmptyTest, R5ABackingFileIsNeverReleasedAsEmpty) {
  const Process p = Start();
  File* const file = *vfs().files.AllocateEmpty(0, p.session().credentials(),
                                                true, kFileBacking);
  const int64_t deferred_before = deferred();
  vfs().files.ReleaseEmpty(file);
  EXPECT_EQ(deferred() - deferred_before, 1);
  FileAccounting::DrainDeferred();
  EXPECT_EQ(vfs().files.nr_files(), 0);
  EXPECT_EQ(hooks_.freed, 1);
  EXPECT_EQ(vfs().files.extra_references_total(), 1);
  expected_extra_references_ = 1;
}

TEST_P(ReleaseEmptyTest, R6AnExtraReferenceKeepsTheFile) {
  const Process p = Start();
  sync::RcuBarrier();
  const int64_t live = live_objects::Count(ObjectKind::kFile);
  File* const file = *vfs().files.AllocateEmpty(0, p.session().credentials());
  file->references.Get();  // somebody got hold of it
  const int64_t deferred_before = deferred();
  vfs().files.ReleaseEmpty(file);
  FileAccounting::DrainDeferred();
  sync::RcuBarrier();
  EXPECT_EQ(vfs().files.extra_references_total(), 1);
  EXPECT_EQ(deferred(), deferred_before);  // not the last reference yet
  EXPECT_EQ(live_objects::Count(ObjectKind::kFile), live + 1);
  EXPECT_EQ(file->opener(), p.session().credentials().get());
  EXPECT_EQ(hooks_.freed, 0);
  vfs().files.Put(file);
  EXPECT_EQ(deferred(), deferred_before + 1);
  FileAccounting::DrainDeferred();
  sync::RcuBarrier();
  EXPECT_EQ(live_objects::Count(ObjectKind::kFile), live);
  EXPECT_EQ(vfs().files.nr_files(), 0);
  EXPECT_EQ(hooks_.freed, 1);
  expected_extra_references_ = 1;
}

TEST_P(ReleaseEmptyTest, R7ARetriedWalkKeepsTheSameFile) {
  const Process p = Start();
  ASSERT_EQ(p.MakeDirectory("/d"), Errno::kOk);
  ASSERT_EQ(p.Create("/d/f"), Errno::kOk);
  const PinnedPath directory = Pin(p, "/d");
  const Balance before = Read(p);
  const int64_t allocated_before = hooks_.allocated;
  const int64_t freed_before = hooks_.freed;
  const int64_t locked_before = vfs().locked_walks.Sum();
  // As if a rename were under way there: the lock-free walk leaves, and the
  // locked one waits for the end of it.
  directory.inode().walk_lock.WriteLock();
  std::thread opener(
      [&p] { EXPECT_EQ(p.TryOpen("/d/missing", kORdOnly), Errno::kENOENT); });
  while (vfs().locked_walks.Sum() == locked_before) std::this_thread::yield();
  directory.inode().walk_lock.WriteUnlock();
  opener.join();
  EXPECT_EQ(vfs().locked_walks.Sum() - locked_before, 1);
  EXPECT_EQ(hooks_.allocated - allocated_before, 1);
  EXPECT_EQ(hooks_.freed - freed_before, 1);
  EXPECT_EQ(Read(p), before);
}

TEST_P(ReleaseEmptyTest, R8AnInternalOpenThatFailsIsReleasedAtOnce) {
  const Process p = Start();
  ASSERT_EQ(p.MakeNode("/socket", kSIfsock | 0666), Errno::kOk);
  const PinnedPath path = Pin(p, "/socket");
  const uint32_t references = path.inode().references.Read();
  const Balance before = Read(p);
  const Caller caller = p.caller();
  File* const file = *vfs().files.AllocateEmpty(kORdOnly, caller.credentials);
  EXPECT_EQ(FileOpener(vfs(), caller).Open(path, *file), Errno::kENXIO);
  EXPECT_FALSE(file->HasMode(kFileOpened));
  EXPECT_EQ(file->path(), PathView());
  EXPECT_EQ(path.inode().references.Read(), references);
  const int64_t deferred_before = deferred();
  vfs().files.ReleaseEmpty(file);
  EXPECT_EQ(deferred(), deferred_before);
  EXPECT_EQ(vfs().files.nr_files(), before.nr_files);
  EXPECT_EQ(hooks_.allocated - hooks_.freed, before.hooks_outstanding);
}

TEST_P(ReleaseEmptyTest, R9EnfileAtTheLimitAndFailedOpensUseNoQuota) {
  RestartVariant({.max_files = 4});
  const Process root = Start();
  const Process user = Start(1000, 1000);
  ASSERT_EQ(root.Create("/f", 0666), Errno::kOk);
  std::vector<Handle> handles;
  for (int i = 0; i < 4; ++i) {
    // Many more failures than there is room for.
    for (int j = 0; j < 100; ++j) {
      ASSERT_EQ(user.TryOpen("/missing", kORdOnly), Errno::kENOENT);
      ASSERT_EQ(user.TryOpen("/f", kODirectory), Errno::kENOTDIR);
    }
    const Result<Handle> handle = user.Open("/f", kORdWr);
    ASSERT_TRUE(handle.has_value()) << i;
    handles.push_back(*handle);
  }
  EXPECT_EQ(user.TryOpen("/f", kORdOnly), Errno::kENFILE);
  // It beats what the walk would say, and what is wrong with flags and path
  // beats it.
  EXPECT_EQ(user.TryOpen("/missing", kORdOnly), Errno::kENFILE);
  EXPECT_EQ(user.TryOpen("/f", kODirectory | kOCreat), Errno::kEINVAL);
  EXPECT_EQ(user.TryOpen("", kORdOnly), Errno::kENOENT);
  EXPECT_EQ(user.TryOpen(std::nullopt, kORdOnly), Errno::kEFAULT);
  EXPECT_EQ(root.TryOpen("/f", kORdOnly), Errno::kOk);  // privileged
  EXPECT_EQ(vfs().files.nr_files(), 4);
  EXPECT_EQ(user.TryOpen("/new", kOCreat | kORdWr), Errno::kENFILE);
  EXPECT_FALSE(root.Stat("/new").has_value());
  EXPECT_EQ(user.Close(handles[0]), Errno::kOk);
  EXPECT_EQ(user.TryOpen("/f", kORdOnly), Errno::kOk);
}

TEST_P(ReleaseEmptyTest, EmfileBeatsEnfileAndCreatesNothing) {
  RestartVariant({.max_files = 2, .max_handles_per_session = 2});
  const Process root = Start();
  const Process user = Start(1000, 1000);
  ASSERT_EQ(root.ChangeMode("/", 0777), Errno::kOk);
  ASSERT_TRUE(user.Open("/", kORdOnly).has_value());
  const Result<Handle> second = user.Open("/", kORdOnly);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(user.TryOpen("/missing", kORdOnly), Errno::kEMFILE);
  EXPECT_EQ(user.TryOpen("/new", kOCreat | kORdWr), Errno::kEMFILE);
  EXPECT_FALSE(root.Stat("/new").has_value());
  EXPECT_EQ(user.Close(*second), Errno::kOk);
  EXPECT_EQ(user.TryOpen("/", kORdOnly), Errno::kOk);
}

TEST_P(ReleaseEmptyTest, AnAllocationThatAPolicyRefusesCountsNothing) {
  const Process p = Start();
  const Balance before = Read(p);
  hooks_.alloc_error = Errno::kENOMEM;
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(p.TryOpen("/", kORdOnly), Errno::kENOMEM);
    EXPECT_EQ(p.TryOpen("/missing", kORdOnly), Errno::kENOMEM);
  }
  EXPECT_EQ(Read(p), before);
  EXPECT_EQ(released() + general(), 0);
}

INSTANTIATE_TEST_SUITE_P(Variants, ReleaseEmptyTest,
                         testing::ValuesIn(kCoreVariants), CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
