// The permission functions against plain statements of their rules, over every
// mode and every relation of the caller to the file.

#include "server/vfs/permission.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/vfs/core_fixture.h"

namespace vfsd::vfs {
namespace {

using namespace linux_abi;  // NOLINT

constexpr uint32_t kOwner = 1000;
constexpr uint32_t kGroup = 2000;

// Who may ask: by what they are to a file of kOwner and kGroup.
struct Person {
  const char* what;
  Credentials credentials;
};
const Person& PersonAt(size_t i) {
  static const std::vector<Person>& people = *new std::vector<Person>{
      {"owner", Credentials(kOwner, 1)},
      {"owner and in the group", Credentials(kOwner, kGroup)},
      {"in the group", Credentials(1, kGroup)},
      {"in the group by a supplementary one",
       Credentials(1, 1, {5, kGroup, 3000})},
      {"other", Credentials(1, 1, {1999, 2001})},
      {"root", Credentials(0, 0)},
      {"root and in the group", Credentials(0, kGroup)},
  };
  return people[i];
}
constexpr size_t kPeople = 7;

std::unique_ptr<Inode> NewInode(uint32_t mode, uint32_t uid = kOwner,
                                uint32_t gid = kGroup) {
  Inode::Init init;
  init.mode = mode;
  init.uid = uid;
  init.gid = gid;
  if (IsSymlink(mode)) init.target = "target";
  return std::make_unique<Inode>(std::move(init));
}

void SetMode(Inode& inode, uint32_t permissions) {
  sync::SeqLockWriter writer(inode.attribute_lock);
  inode.SetPermissions(permissions);
}

// inode(7) and path_resolution(7), bit by bit.
bool Allowed(const Credentials& who, uint32_t mode, char access) {
  const uint32_t shift = access == 'r' ? 2 : access == 'w' ? 1 : 0;
  if (who.uid() == 0) {
    // CAP_DAC_OVERRIDE: everything, but execution only if somebody may.
    if (access != 'x' || IsDirectory(mode)) return true;
    return (mode & 0111) != 0;
  }
  bool in_group = who.gid() == kGroup;
  for (const uint32_t gid : who.groups()) in_group = in_group || gid == kGroup;
  // Exactly one class applies: an owner without a bit is refused even if the
  // group or the others have it.
  const uint32_t bits = who.uid() == kOwner ? mode >> 6 & 7
                        : in_group          ? mode >> 3 & 7
                                            : mode & 7;
  return (bits >> shift & 1) != 0;
}

TEST(PermissionTest, EveryModeEveryPersonEveryAccess) {
  for (const uint32_t type : {kSIfreg, kSIfdir, kSIfifo, kSIflnk}) {
    const auto inode = NewInode(type);
    for (uint32_t mode = 0; mode <= 0777; ++mode) {
      SetMode(*inode, mode);
      for (size_t i = 0; i < kPeople; ++i) {
        const Credentials& who = PersonAt(i).credentials;
        for (uint32_t wanted = 0; wanted <= 7; ++wanted) {
          const bool expected =
              ((wanted & kMayRead) == 0 || Allowed(who, type | mode, 'r')) &&
              ((wanted & kMayWrite) == 0 || Allowed(who, type | mode, 'w')) &&
              ((wanted & kMayExec) == 0 || Allowed(who, type | mode, 'x'));
          ASSERT_EQ(CheckPermission(who, *inode, wanted),
                    expected ? Errno::kOk : Errno::kEACCES)
              << PersonAt(i).what << ", mode " << std::oct << (type | mode)
              << ", wanted " << wanted;
        }
        ASSERT_EQ(CheckSearch(who, *inode),
                  CheckPermission(who, *inode, kMayExec));
      }
    }
  }
}

TEST(PermissionTest, SetIdAndStickyBitsGrantNothing) {
  const auto inode = NewInode(kSIfreg);
  SetMode(*inode, 07000);
  for (size_t i = 0; i < 5; ++i) {
    for (const uint32_t wanted : {kMayRead, kMayWrite, kMayExec})
      EXPECT_EQ(CheckPermission(PersonAt(i).credentials, *inode, wanted),
                Errno::kEACCES);
  }
}

TEST(PermissionTest, OwnershipIsTheOwnersAndRoots) {
  const auto inode = NewInode(kSIfreg);
  for (size_t i = 0; i < kPeople; ++i) {
    const Credentials& who = PersonAt(i).credentials;
    EXPECT_EQ(IsOwnerOrPrivileged(who, *inode),
              who.uid() == kOwner || who.uid() == 0);
  }
}

TEST(PermissionTest, CreatingNeedsWriteAndSearch) {
  const auto directory = NewInode(kSIfdir);
  for (uint32_t mode = 0; mode <= 0777; ++mode) {
    SetMode(*directory, mode);
    for (size_t i = 0; i < kPeople; ++i) {
      const Credentials& who = PersonAt(i).credentials;
      const bool expected = Allowed(who, kSIfdir | mode, 'w') &&
                            Allowed(who, kSIfdir | mode, 'x');
      ASSERT_EQ(CheckMayCreate(who, *directory),
                expected ? Errno::kOk : Errno::kEACCES);
    }
  }
  // A removed directory is ENOENT, also to who may not write there.
  directory->SetFlag(kInodeDead);
  SetMode(*directory, 0);
  for (size_t i = 0; i < kPeople; ++i)
    EXPECT_EQ(CheckMayCreate(PersonAt(i).credentials, *directory),
              Errno::kENOENT);
}

TEST(PermissionTest, RemovingByStickyBitOwnersAndKind) {
  for (const uint32_t sticky : {0U, kSIsvtx}) {
    for (const uint32_t mode : {0777U, 0700U, 0770U, 0707U, 0555U, 0U}) {
      for (const uint32_t directory_uid : {kOwner, 7U}) {
        for (const uint32_t victim_uid : {kOwner, 1U, 9U}) {
          for (const uint32_t victim_type : {kSIfreg, kSIfdir, kSIflnk}) {
            for (const bool as_directory : {false, true}) {
              const auto directory =
                  NewInode(kSIfdir | sticky | mode, directory_uid, kGroup);
              const auto victim = NewInode(victim_type | 0, victim_uid, kGroup);
              for (size_t i = 0; i < kPeople; ++i) {
                const Credentials& who = PersonAt(i).credentials;
                Errno expected = Errno::kOk;
                // In the kernel's order.
                if (CheckPermission(who, *directory, kMayWrite | kMayExec) !=
                    Errno::kOk) {
                  expected = Errno::kEACCES;
                } else if (sticky != 0 && who.uid() != 0 &&
                           who.uid() != directory_uid &&
                           who.uid() != victim_uid) {
                  expected = Errno::kEPERM;
                } else if (as_directory && victim_type != kSIfdir) {
                  expected = Errno::kENOTDIR;
                } else if (!as_directory && victim_type == kSIfdir) {
                  expected = Errno::kEISDIR;
                }
                ASSERT_EQ(
                    CheckMayDelete(who, *directory, *victim, as_directory),
                    expected)
                    << PersonAt(i).what;
              }
            }
          }
        }
      }
    }
  }
}

TEST(PermissionTest, ProtectedSymlinks) {
  for (const uint32_t on : {0U, 1U}) {
    VfsOptions options;
    options.protected_symlinks = on;
    for (const uint32_t mode : {01777U, 0777U, 01755U, 01775U}) {
      for (const uint32_t directory_uid : {kOwner, 7U}) {
        const auto directory = NewInode(kSIfdir | mode, directory_uid);
        const auto link = NewInode(kSIflnk | 0777, kOwner);
        for (size_t i = 0; i < kPeople; ++i) {
          const Credentials& who = PersonAt(i).credentials;
          // sysctl/fs: in a sticky world-writable directory only the link's
          // owner follows it, or everybody if the directory has the same owner.
          const bool refused = on != 0 && mode == 01777 &&
                               who.uid() != kOwner && directory_uid != kOwner;
          EXPECT_EQ(CheckFollowLink(options, who, *directory, *link),
                    refused ? Errno::kEACCES : Errno::kOk)
              << PersonAt(i).what;
        }
      }
    }
  }
}

TEST(PermissionTest, CreatingOverWhatExistsInStickyDirectories) {
  for (const uint32_t fifos : {0U, 1U, 2U}) {
    for (const uint32_t regular : {0U, 1U, 2U}) {
      VfsOptions options;
      options.protected_fifos = fifos;
      options.protected_regular = regular;
      for (const uint32_t mode : {01777U, 01775U, 01755U, 0777U, 01707U}) {
        for (const uint32_t directory_uid : {kOwner, 7U}) {
          for (const uint32_t type :
               {kSIfreg, kSIfifo, kSIfsock, kSIfchr, kSIflnk}) {
            const auto directory = NewInode(kSIfdir | mode, directory_uid);
            const auto inode = NewInode(type | 0666, kOwner);
            for (size_t i = 0; i < kPeople; ++i) {
              const Credentials& who = PersonAt(i).credentials;
              // sysctl/fs: level 1 for world-writable sticky directories, level
              // 2 for group-writable ones too; unless the file is the
              // opener's or the directory's owner's. Only regular files and
              // fifos can be exempted by level 0 (observed on Linux 6.18).
              const uint32_t level = type == kSIfreg   ? regular
                                     : type == kSIfifo ? fifos
                                                       : 1;
              const bool sticky = (mode & kSIsvtx) != 0;
              const bool theirs =
                  who.uid() == kOwner || directory_uid == kOwner;
              const bool refused = sticky && !theirs &&
                                   (((mode & 0002) != 0 && level >= 1) ||
                                    ((mode & 0020) != 0 && level >= 2));
              EXPECT_EQ(CheckCreateInSticky(options, who, *directory, *inode),
                        refused ? Errno::kEACCES : Errno::kOk)
                  << PersonAt(i).what << " mode " << std::oct << mode
                  << " type " << type;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace vfsd::vfs
