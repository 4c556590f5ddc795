// Part A4 of the rules for statx: the stat of a handle with no path (the fast
// path empty-path) and the walk that it saves give the same answers, in the
// same order of precedence.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT

// So that two can be compared byte by byte.
static_assert(std::has_unique_object_representations_v<Statx>);

constexpr uint32_t kMasks[] = {0,      0x7ff,  0xfff,  0x1000,
                               0x2000, 0x4000, 0x5000, 0x7fffffff};

bool Same(const Statx& a, const Statx& b) {
  return std::memcmp(&a, &b, sizeof(Statx)) == 0;
}

class EmptyPathTest : public VariantTest {
 protected:
  // A tree with one of everything.
  void Build(const Process& p) {
    ASSERT_EQ(p.Create("/file"), Errno::kOk);
    ASSERT_EQ(p.Truncate("/file", 12345), Errno::kOk);
    ASSERT_EQ(p.MakeDirectory("/dir"), Errno::kOk);
    ASSERT_EQ(p.MakeSymlink("file", "/link"), Errno::kOk);
    ASSERT_EQ(p.MakeNode("/fifo", kSIfifo | 0600), Errno::kOk);
    ASSERT_EQ(p.MakeNode("/device", kSIfblk | 0600, MakeDevice(8, 1)),
              Errno::kOk);
    ASSERT_EQ(p.MakeDirectory("/mount"), Errno::kOk);
    mount_ = MountMem(p, "/mount");
  }

  int64_t hits() { return vfs().fast_paths.hits(FastPath::kEmptyPath); }
  int64_t general() { return vfs().fast_paths.general(FastPath::kEmptyPath); }

  Mount* mount_ = nullptr;
};

TEST_P(EmptyPathTest, BothPathsGiveTheSameBytes) {
  const Process p = Start();
  Build(p);
  struct Row {
    const char* path;
    uint32_t flags;
  };
  for (const Row& row :
       {Row{"/file", kORdOnly}, Row{"/file", kOWrOnly}, Row{"/file", kOPath},
        Row{"/dir", kORdOnly}, Row{"/dir", kOPath}, Row{"/", kORdOnly},
        Row{"/mount", kORdOnly}, Row{"/mount", kOPath},
        Row{"/link", kOPath | kONofollow}, Row{"/fifo", kORdWr},
        Row{"/fifo", kOPath}, Row{"/device", kOPath}}) {
    const Result<Handle> handle = p.Open(row.path, row.flags);
    ASSERT_TRUE(handle.has_value()) << row.path;
    for (const uint32_t mask : kMasks) {
      SCOPED_TRACE(testing::Message()
                   << row.path << " mask " << std::hex << mask);
      const Result<Statx> by_path = p.Stat(row.path, kAtSymlinkNofollow, mask);
      ASSERT_TRUE(by_path.has_value());
      for (const bool fast_path : {true, false}) {
        vfs().fast_paths.Set(FastPath::kEmptyPath, fast_path);
        for (const PathArgument& path : {PathArgument(), PathArgument("")}) {
          for (const uint32_t flags :
               {0U, kAtNoAutomount, kAtSymlinkNofollow, kAtStatxForceSync,
                kAtStatxDontSync, kAtSymlinkNofollow | kAtNoAutomount}) {
            const Result<Statx> by_handle =
                p.Stat(path, kAtEmptyPath | flags, mask, *handle);
            ASSERT_TRUE(by_handle.has_value());
            EXPECT_TRUE(Same(*by_handle, *by_path)) << flags << fast_path;
          }
        }
      }
    }
    EXPECT_EQ(p.Close(*handle), Errno::kOk);
  }
}

TEST_P(EmptyPathTest, ARemovedFileIsStillThere) {
  const Process p = Start();
  Build(p);
  const Result<Handle> handle = p.Open("/file", kORdOnly);
  ASSERT_TRUE(handle.has_value());
  ASSERT_EQ(p.Unlink("/file"), Errno::kOk);
  const Result<Statx> stat = p.StatHandle(*handle);
  ASSERT_TRUE(stat.has_value());
  EXPECT_EQ(stat->nlink, 0U);
  EXPECT_EQ(stat->size, 12345U);
  EXPECT_EQ(p.Close(*handle), Errno::kOk);
  EXPECT_EQ(Process::ErrorOf(p.StatHandle(*handle)), Errno::kEBADF);
}

TEST_P(EmptyPathTest, PathsFlagsAndHandlesTable) {
  const Process p = Start();
  Build(p);
  const Handle file = *p.Open("/file", kORdOnly);
  const Handle dir = *p.Open("/dir", kORdOnly);
  const Handle closed = *p.Open("/dir", kORdOnly);
  ASSERT_EQ(p.Close(closed), Errno::kOk);
  const uint64_t ino_of_root = p.Stat("/")->ino;
  const uint64_t ino_of_file = p.Stat("/file")->ino;
  constexpr auto kNone = std::nullopt;
  constexpr uint32_t kEmpty = kAtEmptyPath;
  struct Row {
    DirectoryArgument dir;
    PathArgument path;
    uint32_t flags;
    Errno error;
    uint64_t ino = 0;
  };
  for (const Row& row : {
           // The handle itself.
           Row{file, kNone, kEmpty, Errno::kOk, ino_of_file},
           Row{file, "", kEmpty, Errno::kOk, ino_of_file},
           Row{file, kNone, kEmpty | kAtSymlinkNofollow, Errno::kOk,
               ino_of_file},
           Row{file, "", kEmpty | kAtNoAutomount, Errno::kOk, ino_of_file},
           // AT_FDCWD: the session's root.
           Row{kNone, kNone, kEmpty, Errno::kOk, ino_of_root},
           Row{kNone, "", kEmpty, Errno::kOk, ino_of_root},
           // Without the flag.
           Row{file, kNone, 0, Errno::kEFAULT},
           Row{file, "", 0, Errno::kENOENT},
           Row{kNone, kNone, 0, Errno::kEFAULT},
           Row{kNone, "", 0, Errno::kENOENT},
           Row{Handle{0}, kNone, 0, Errno::kEFAULT},
           Row{Handle{0}, "", 0, Errno::kENOENT},
           // Handles that are none.
           Row{Handle{0}, kNone, kEmpty, Errno::kEBADF},
           Row{Handle{0}, "", kEmpty, Errno::kEBADF},
           Row{closed, kNone, kEmpty, Errno::kEBADF},
           Row{closed, "", kEmpty, Errno::kEBADF},
           Row{closed, "file", 0, Errno::kEBADF},
           Row{closed, "/file", 0, Errno::kOk, ino_of_file},
           // A path that is not empty is walked, flag or not.
           Row{file, "x", kEmpty, Errno::kENOTDIR},
           Row{file, ".", kEmpty, Errno::kENOTDIR},
           Row{file, "/file", kEmpty, Errno::kOk, ino_of_file},
           Row{dir, "x", kEmpty, Errno::kENOENT},
           Row{dir, "../file", kEmpty, Errno::kOk, ino_of_file},
           Row{kNone, "file", kEmpty, Errno::kOk, ino_of_file},
           // Unknown flags are refused on both paths, whatever kernels do.
           Row{file, kNone, kEmpty | 0x8000, Errno::kEINVAL},
           Row{file, "", kEmpty | 0x1, Errno::kEINVAL},
           Row{file, "", kEmpty | kAtRemovedir, Errno::kEINVAL},
           Row{file, "", kEmpty | kAtSymlinkFollow, Errno::kEINVAL},
           Row{file, "", kEmpty | kAtStatxSyncType, Errno::kEINVAL},
       }) {
    for (const bool fast_path : {true, false}) {
      vfs().fast_paths.Set(FastPath::kEmptyPath, fast_path);
      const Result<Statx> stat = p.Stat(row.path, row.flags, 0x7ff, row.dir);
      EXPECT_EQ(Process::ErrorOf(stat), row.error)
          << (row.path.has_value() ? *row.path : "(absent)") << " flags "
          << std::hex << row.flags << " fast " << fast_path;
      if (stat.has_value()) {
        EXPECT_EQ(stat->ino, row.ino);
      }
    }
  }
}

TEST_P(EmptyPathTest, PrecedenceOfErrors) {
  const Process p = Start();
  // Everything wrong at once, and then one thing less each time.
  const Handle bad = 0;
  const std::string long_path(kPathMax, 'x');
  constexpr uint32_t kBadMask = kStatxReserved | 0x7ff;
  for (const bool fast_path : {true, false}) {
    vfs().fast_paths.Set(FastPath::kEmptyPath, fast_path);
    const auto error = [&](PathArgument path, uint32_t flags, uint32_t mask) {
      return Process::ErrorOf(p.Stat(path, flags, mask, bad));
    };
    const std::vector<PathArgument> paths = {std::nullopt, "", long_path, "x"};
    for (const PathArgument& path : paths) {
      for (const uint32_t empty : {0U, kAtEmptyPath}) {
        EXPECT_EQ(error(path, empty | kAtStatxSyncType | 0x8000, kBadMask),
                  Errno::kEINVAL);
        EXPECT_EQ(error(path, empty, kBadMask), Errno::kEINVAL);
        EXPECT_EQ(error(path, empty | kAtStatxSyncType, 0x7ff), Errno::kEINVAL);
        EXPECT_EQ(error(path, empty | 0x8000, 0x7ff), Errno::kEINVAL);
      }
    }
    EXPECT_EQ(error(std::nullopt, 0, 0x7ff), Errno::kEFAULT);
    EXPECT_EQ(error("", 0, 0x7ff), Errno::kENOENT);
    EXPECT_EQ(error(long_path, 0, 0x7ff), Errno::kENAMETOOLONG);
    EXPECT_EQ(error(long_path, kAtEmptyPath, 0x7ff), Errno::kENAMETOOLONG);
    EXPECT_EQ(error("x", 0, 0x7ff), Errno::kEBADF);
    EXPECT_EQ(error(std::nullopt, kAtEmptyPath, 0x7ff), Errno::kEBADF);
    EXPECT_EQ(error("", kAtEmptyPath, 0x7ff), Errno::kEBADF);
  }
}

TEST_P(EmptyPathTest, MountIdBitsAndAttributes) {
  const Process p = Start();
  Build(p);
  const Handle handle = *p.Open("/mount", kORdOnly);
  const Handle file = *p.Open("/file", kORdOnly);
  for (const bool fast_path : {true, false}) {
    vfs().fast_paths.Set(FastPath::kEmptyPath, fast_path);
    for (const uint32_t mask : kMasks) {
      const Statx stat = *p.StatHandle(handle, mask);
      const bool unique = (mask & kStatxMntIdUnique) != 0;
      EXPECT_EQ(stat.mask & (kStatxMntId | kStatxMntIdUnique),
                unique ? kStatxMntIdUnique : kStatxMntId);
      EXPECT_EQ(stat.mnt_id, unique ? mount_->unique_id() : mount_->id());
      // The root of a mount says so; what can be said is said of everything.
      EXPECT_EQ(stat.attributes & kStatxAttrMountRoot, kStatxAttrMountRoot);
      const Statx of_file = *p.StatHandle(file, mask);
      EXPECT_EQ(of_file.attributes & kStatxAttrMountRoot, 0U);
      EXPECT_EQ(of_file.attributes_mask, 0x203070U);  // tmpfs's
      EXPECT_EQ(stat.attributes_mask, 0x203070U);
      // Times of change and birth only if asked for.
      const uint32_t change = kStatxMtime | kStatxCtime;
      EXPECT_EQ(of_file.mask & change, (mask & change) != 0 ? change : 0U);
      EXPECT_EQ(of_file.mask & kStatxBtime, mask & kStatxBtime);
    }
    EXPECT_EQ(p.StatHandle(file, 0)->mask, 0x173fU);
    EXPECT_EQ(p.StatHandle(file, 0x7ff)->mask, 0x17ffU);
    EXPECT_EQ(p.StatHandle(file, 0xfff)->mask, 0x1fffU);
  }
}

TEST_P(EmptyPathTest, APolicyThatRefusesLeavesNothing) {
  const Process p = Start();
  Build(p);
  const Handle handle = *p.Open("/file", kORdOnly);
  hooks_.getattr_error = Errno::kEACCES;
  for (const bool fast_path : {true, false}) {
    vfs().fast_paths.Set(FastPath::kEmptyPath, fast_path);
    const Result<Statx> by_handle = p.StatHandle(handle);
    ASSERT_FALSE(by_handle.has_value());
    EXPECT_EQ(by_handle.error(), Errno::kEACCES);
    EXPECT_EQ(Process::ErrorOf(p.Stat("/file")), Errno::kEACCES);
    ReadDirectoryOperation list;
    list.path = "/";
    list.page_size = 100;
    list.with_attributes = true;
    EXPECT_EQ(executor().Execute(p.caller(), list).error(), Errno::kEACCES);
    // A handle that is none is found out first.
    EXPECT_EQ(Process::ErrorOf(p.StatHandle(0)), Errno::kEBADF);
  }
  hooks_.getattr_error = Errno::kOk;
  EXPECT_TRUE(p.StatHandle(handle).has_value());
}

// Every operation that takes a directory takes none of it with an empty path
// too: there "" is the session's root, not a bad handle.
TEST_P(EmptyPathTest, AnEmptyPathWithoutAHandleIsTheRoot) {
  const Process p = Start();
  // An absent path is "" to statx only (observed on Linux 6.18).
  EXPECT_EQ(p.Access(std::nullopt, kROk, kAtEmptyPath), Errno::kEFAULT);
  EXPECT_EQ(p.Access("", kROk, kAtEmptyPath), Errno::kOk);
  SetAttributesOperation change;
  change.flags = kAtEmptyPath;
  change.path = "";
  change.mode = 0711;
  EXPECT_EQ(p.SetAttributes(change), Errno::kOk);
  EXPECT_EQ(p.Stat("/")->mode, kSIfdir | 0711);
  MakeLinkOperation link;
  link.old_path = "";
  link.flags = kAtEmptyPath;
  link.new_path = "/x";
  EXPECT_EQ(executor().Execute(p.caller(), link).error(), Errno::kEPERM);
}

TEST_P(EmptyPathTest, AnOPathHandleIsGoodForStatOnly) {
  const Process p = Start();
  Build(p);
  const Handle file = *p.Open("/file", kOPath);
  const Handle dir = *p.Open("/dir", kOPath);
  EXPECT_TRUE(p.StatHandle(file).has_value());
  EXPECT_EQ(p.Access("", kROk, kAtEmptyPath, file), Errno::kOk);
  EXPECT_EQ(p.TryOpen("x", kOCreat | kORdWr, 0644, dir), Errno::kOk);
  std::array<char, 16> buffer;
  EXPECT_EQ(p.Read(file, buffer).error(), Errno::kEBADF);
  EXPECT_EQ(p.ListHandle(dir).error(), Errno::kEBADF);
  SetAttributesOperation change;
  change.dir = file;
  change.mode = 0600;
  EXPECT_EQ(p.SetAttributes(change), Errno::kEBADF);
}

TEST_P(EmptyPathTest, HitsAreTheStatsThatNeedNoWalk) {
  const Process p = Start();
  Build(p);
  const Handle handle = *p.Open("/file", kORdOnly);
  const int64_t hits_before = hits();
  const int64_t general_before = general();
  const int64_t walks_before =
      vfs().fast_walks.Sum() + vfs().locked_walks.Sum();
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(p.Stat("", kAtEmptyPath, 0x7ff, handle).has_value());
    ASSERT_TRUE(p.Stat(std::nullopt, kAtEmptyPath, 0x7ff, handle).has_value());
  }
  EXPECT_EQ(hits() - hits_before, fast() ? 200 : 0);
  EXPECT_EQ(general() - general_before, fast() ? 0 : 200);
  EXPECT_EQ(vfs().fast_walks.Sum() + vfs().locked_walks.Sum() - walks_before,
            fast() ? 0 : 200);
  // These are not of its kind.
  ASSERT_TRUE(p.Stat("/file").has_value());
  ASSERT_TRUE(p.Stat("", kAtEmptyPath).has_value());
  ASSERT_FALSE(p.Stat("", 0, 0x7ff, handle).has_value());
  ASSERT_FALSE(p.Stat("", kAtEmptyPath | 0x8000, 0x7ff, handle).has_value());
  EXPECT_EQ(hits() + general() - hits_before - general_before, 200);
}

INSTANTIATE_TEST_SUITE_P(Variants, EmptyPathTest,
                         testing::ValuesIn(kCoreVariants), CoreVariantName);

}  // namespace
}  // namespace vfsd::vfs
