// The file table: what a handle is good for, and what every other number is.

#include "server/vfs/file_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "server/sync/rcu.h"
#include "server/vfs/live_objects.h"

namespace vfsd {
inline void PrintTo(Errno error, std::ostream* out) {
  *out << ErrnoName(error);
}
}  // namespace vfsd

namespace vfsd::vfs {
namespace {

constexpr uint8_t kEpoch = 7;

// A table of files that were never opened: to a table they are all the same.
class FileTableTest : public testing::Test {
 protected:
  ~FileTableTest() override {
    FileAccounting::DrainDeferred();
    sync::RcuBarrier();
    EXPECT_EQ(accounting_.nr_files(), 0);
    EXPECT_EQ(live_objects::Count(ObjectKind::kFile), files_before_);
  }

  File* NewFile() { return *accounting_.AllocateEmpty(0, credentials_); }

  Result<Handle> Open(FileTable& table) {
    const Result<FileTable::Slot> slot = table.Reserve();
    if (!slot.has_value()) return Fail(slot.error());
    return table.Install(*slot, NewFile());
  }

  static Errno Look(const FileTable& table, Handle handle) {
    const sync::RcuReadSection section;
    const auto file = table.Look(handle);
    return file.has_value() ? Errno::kOk : file.error();
  }

  // What every way to use a handle answers: they must agree.
  void ExpectNot(FileTable& table, Handle handle, Errno expected) {
    EXPECT_EQ(Look(table, handle), expected) << std::hex << handle;
    const Result<File*> pinned = table.Pin(handle);
    EXPECT_EQ(pinned.has_value() ? Errno::kOk : pinned.error(), expected);
    EXPECT_EQ(table.Close(handle), expected);
  }

  const int64_t files_before_ = live_objects::Count(ObjectKind::kFile);
  const CredentialsRef credentials_ = std::make_shared<const Credentials>(0, 0);
  FileAccounting accounting_{1'000'000, nullptr};
};

TEST_F(FileTableTest, AHandleFindsItsFileUntilItIsClosed) {
  FileTable table(accounting_, kEpoch, 42, 10);
  const Result<FileTable::Slot> slot = table.Reserve();
  ASSERT_TRUE(slot.has_value());
  File* const file = NewFile();
  const Handle handle = table.Install(*slot, file);
  EXPECT_NE(handle, 0U);
  {
    const sync::RcuReadSection section;
    const auto look = table.Look(handle);
    ASSERT_TRUE(look.has_value());
    EXPECT_EQ(look->opener, credentials_.get());
  }
  EXPECT_EQ(table.open_handles(), 1U);
  EXPECT_EQ(table.Close(handle), Errno::kOk);
  EXPECT_EQ(table.open_handles(), 0U);
  ExpectNot(table, handle, Errno::kEBADF);
}

TEST_F(FileTableTest, AClosedHandleNeverMeansAnotherFile) {
  FileTable table(accounting_, kEpoch, 42, 1);  // one slot for all
  std::set<Handle> closed;
  for (int i = 0; i < 1000; ++i) {
    const Result<Handle> handle = Open(table);
    ASSERT_TRUE(handle.has_value());
    ASSERT_TRUE(closed.insert(*handle).second) << "given out twice";
    for (const Handle old : closed) {
      if (old != *handle) {
        ASSERT_EQ(Look(table, old), Errno::kEBADF);
      }
    }
    if (closed.size() > 20) closed.erase(closed.begin());
    closed.insert(*handle);
    ASSERT_EQ(table.Close(*handle), Errno::kOk);
  }
}

TEST_F(FileTableTest, AForeignHandleIsEbadf) {
  std::mt19937_64 random(1);
  FileTable mine(accounting_, kEpoch, random(), 1000);
  FileTable theirs(accounting_, kEpoch, random(), 1000);
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(Open(mine).has_value());
    const Result<Handle> foreign = Open(theirs);
    ASSERT_TRUE(foreign.has_value());
    ExpectNot(mine, *foreign, Errno::kEBADF);
  }
  EXPECT_EQ(mine.CloseAll(), 500U);
  EXPECT_EQ(theirs.CloseAll(), 500U);
}

TEST_F(FileTableTest, AnInventedHandleIsNeverAFile) {
  FileTable table(accounting_, kEpoch, 0x123456789abc, 1000);
  std::set<Handle> real;
  for (int i = 0; i < 1000; ++i) real.insert(*Open(table));
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  int stale = 0;
  constexpr int kTries = 200'000;
  for (int i = 0; i < kTries; ++i) {
    Handle invented = random();
    if (i % 2 == 0) invented = invented >> 8 | uint64_t{kEpoch} << 56;
    if (real.contains(invented)) continue;
    const Errno error = Look(table, invented);
    ASSERT_NE(error, Errno::kOk) << std::hex << invented;
    if (error == Errno::kESTALE) {
      // Looks as if an earlier vfsd had made it: one in 256 does.
      ASSERT_NE(invented >> 56, kEpoch);
      ++stale;
    } else {
      ASSERT_EQ(error, Errno::kEBADF);
    }
  }
  EXPECT_LT(stale, kTries / 100);
  for (const Handle handle :
       {Handle{0}, Handle{1}, ~Handle{0}, Handle{INT64_MAX}}) {
    if (!real.contains(handle)) {
      EXPECT_NE(Look(table, handle), Errno::kOk);
    }
  }
  EXPECT_EQ(Look(table, 0), Errno::kEBADF);
  // A real one with a bit turned over.
  for (int bit = 0; bit < 64; ++bit) {
    const Handle turned = *real.begin() ^ uint64_t { 1 } << bit;
    if (!real.contains(turned)) {
      EXPECT_NE(Look(table, turned), Errno::kOk);
    }
  }
  EXPECT_EQ(table.CloseAll(), 1000U);
}

TEST_F(FileTableTest, AHandleFromBeforeARestartIsEstale) {
  std::vector<Handle> old;
  {
    FileTable before(accounting_, kEpoch, 42, 300);
    for (int i = 0; i < 300; ++i) old.push_back(*Open(before));
    EXPECT_EQ(before.CloseAll(), 300U);
  }
  FileTable after(accounting_, kEpoch + 1, 43, 300);
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(Open(after).has_value());
  for (const Handle handle : old) ExpectNot(after, handle, Errno::kESTALE);
  after.CloseAll();
}

TEST_F(FileTableTest, EmfileAtTheLimitAndNotBefore) {
  constexpr uint32_t kMax = 600;  // more than two chunks of slots
  FileTable table(accounting_, kEpoch, 42, kMax);
  std::vector<Handle> handles;
  for (uint32_t i = 0; i < kMax; ++i) {
    const Result<Handle> handle = Open(table);
    ASSERT_TRUE(handle.has_value()) << i;
    handles.push_back(*handle);
  }
  EXPECT_EQ(table.Reserve().error(), Errno::kEMFILE);
  EXPECT_EQ(table.open_handles(), kMax);
  ASSERT_EQ(table.Close(handles[17]), Errno::kOk);
  const Result<FileTable::Slot> slot = table.Reserve();
  ASSERT_TRUE(slot.has_value());
  // A reserved slot counts before it has a file.
  EXPECT_EQ(table.Reserve().error(), Errno::kEMFILE);
  table.Cancel(*slot);
  const Result<Handle> again = Open(table);
  ASSERT_TRUE(again.has_value());
  ExpectNot(table, handles[17], Errno::kEBADF);
  EXPECT_EQ(table.CloseAll(), kMax);
}

TEST_F(FileTableTest, AFileThatFindsNoSlotStaysItsOwners) {
  FileTable table(accounting_, kEpoch, 42, 1);
  EXPECT_EQ(table.CheckRoom(), Errno::kOk);
  const Result<Handle> handle = table.Add(NewFile());
  ASSERT_TRUE(handle.has_value());
  EXPECT_EQ(Look(table, *handle), Errno::kOk);
  EXPECT_EQ(table.CheckRoom(), Errno::kEMFILE);
  File* const second = NewFile();
  EXPECT_EQ(table.Add(second).error(), Errno::kEMFILE);
  ASSERT_EQ(table.Close(*handle), Errno::kOk);
  EXPECT_EQ(table.CheckRoom(), Errno::kOk);
  const Result<Handle> again = table.Add(second);
  ASSERT_TRUE(again.has_value());
  EXPECT_NE(*again, *handle);
  EXPECT_EQ(table.CloseAll(), 1U);
  EXPECT_EQ(table.CheckRoom(), Errno::kESTALE);
  File* const late = NewFile();
  EXPECT_EQ(table.Add(late).error(), Errno::kESTALE);
  accounting_.Put(late);
  EXPECT_EQ(table.open_handles(), 0U);
}

TEST_F(FileTableTest, ACancelledSlotCostsNothing) {
  FileTable table(accounting_, kEpoch, 42, 2);
  for (int i = 0; i < 1000; ++i) {
    const Result<FileTable::Slot> slot = table.Reserve();
    ASSERT_TRUE(slot.has_value());
    table.Cancel(*slot);
  }
  ASSERT_TRUE(Open(table).has_value());
  ASSERT_TRUE(Open(table).has_value());
  EXPECT_EQ(table.CloseAll(), 2U);
}

TEST_F(FileTableTest, ASlotWhoseGenerationsAreUsedUpIsRetired) {
  constexpr uint32_t kGenerations = 5;
  constexpr uint32_t kSlots = 3;
  FileTable table(accounting_, kEpoch, 42, kSlots, kGenerations);
  std::set<Handle> used;
  for (uint32_t i = 0; i < kSlots * kGenerations; ++i) {
    const Result<Handle> handle = Open(table);
    ASSERT_TRUE(handle.has_value()) << i;
    ASSERT_TRUE(used.insert(*handle).second);
    ASSERT_EQ(table.Close(*handle), Errno::kOk);
  }
  // All are retired, and no number came twice.
  EXPECT_EQ(Open(table).error(), Errno::kEMFILE);
  for (const Handle handle : used) ExpectNot(table, handle, Errno::kEBADF);
}

TEST_F(FileTableTest, APinnedFileOutlivesItsHandle) {
  FileTable table(accounting_, kEpoch, 42, 10);
  const Result<Handle> handle = Open(table);
  ASSERT_TRUE(handle.has_value());
  const Result<File*> pinned = table.Pin(*handle);
  ASSERT_TRUE(pinned.has_value());
  EXPECT_EQ(table.Close(*handle), Errno::kOk);
  FileAccounting::DrainDeferred();
  EXPECT_EQ(accounting_.nr_files(), 1);
  EXPECT_EQ((*pinned)->opener(), credentials_.get());
  accounting_.Put(*pinned);
  FileAccounting::DrainDeferred();
  EXPECT_EQ(accounting_.nr_files(), 0);
}

TEST_F(FileTableTest, CloseAllClosesAndRefusesWhatComesLater) {
  FileTable table(accounting_, kEpoch, 42, 10);
  const Result<Handle> handle = Open(table);
  const Result<FileTable::Slot> reserved = table.Reserve();
  ASSERT_TRUE(handle.has_value() && reserved.has_value());
  EXPECT_EQ(table.CloseAll(), 1U);
  ExpectNot(table, *handle, Errno::kEBADF);
  EXPECT_EQ(table.Reserve().error(), Errno::kESTALE);
  // What was on its way is born closed.
  const Handle late = table.Install(*reserved, NewFile());
  EXPECT_EQ(Look(table, late), Errno::kEBADF);
  EXPECT_EQ(table.open_handles(), 0U);
  EXPECT_EQ(table.CloseAll(), 0U);
}

TEST_F(FileTableTest, ThreadsThatCloseOneHandleAgreeOnWhoDid) {
  FileTable table(accounting_, kEpoch, 42, 10);
  for (int round = 0; round < 300; ++round) {
    const Handle handle = *Open(table);
    std::atomic<int> closed{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        const Errno error = table.Close(handle);
        if (error == Errno::kOk) ++closed;
        if (error != Errno::kOk) {
          EXPECT_EQ(error, Errno::kEBADF);
        }
        FileAccounting::DrainDeferred();
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(closed.load(), 1);
  }
}

}  // namespace
}  // namespace vfsd::vfs
