// Linux's numbers that the core speaks (asm-generic, as on x86-64), as typed
// constants: the API takes and gives the kernel's own values, and the core must
// not depend on which of them the host's headers define.
#pragma once

#include <cstdint>

namespace vfsd::vfs::linux_abi {

// open(2).
inline constexpr uint32_t kOAccMode = 00000003;
inline constexpr uint32_t kORdOnly = 00000000;
inline constexpr uint32_t kOWrOnly = 00000001;
inline constexpr uint32_t kORdWr = 00000002;
inline constexpr uint32_t kOCreat = 00000100;
inline constexpr uint32_t kOExcl = 00000200;
inline constexpr uint32_t kONoctty = 00000400;
inline constexpr uint32_t kOTrunc = 00001000;
inline constexpr uint32_t kOAppend = 00002000;
inline constexpr uint32_t kONonblock = 00004000;
inline constexpr uint32_t kODsync = 00010000;
inline constexpr uint32_t kFasync = 00020000;
inline constexpr uint32_t kODirect = 00040000;
inline constexpr uint32_t kOLargefile = 00100000;
inline constexpr uint32_t kODirectory = 00200000;
inline constexpr uint32_t kONofollow = 00400000;
inline constexpr uint32_t kONoatime = 01000000;
inline constexpr uint32_t kOCloexec = 02000000;
inline constexpr uint32_t kOSyncBit = 04000000;
inline constexpr uint32_t kOPath = 010000000;
inline constexpr uint32_t kOTmpfileBit = 020000000;
// Everything that openat(2) knows; other bits are dropped.
inline constexpr uint32_t kOValid =
    kOAccMode | kOCreat | kOExcl | kONoctty | kOTrunc | kOAppend | kONonblock |
    kODsync | kFasync | kODirect | kOLargefile | kODirectory | kONofollow |
    kONoatime | kOCloexec | kOSyncBit | kOPath | kOTmpfileBit;

// The *at calls.
inline constexpr uint32_t kAtSymlinkNofollow = 0x100;
inline constexpr uint32_t kAtEaccess = 0x200;
inline constexpr uint32_t kAtRemovedir = 0x200;
inline constexpr uint32_t kAtSymlinkFollow = 0x400;
inline constexpr uint32_t kAtNoAutomount = 0x800;
inline constexpr uint32_t kAtEmptyPath = 0x1000;
inline constexpr uint32_t kAtStatxForceSync = 0x2000;
inline constexpr uint32_t kAtStatxDontSync = 0x4000;
inline constexpr uint32_t kAtStatxSyncType = 0x6000;

// access(2).
inline constexpr uint32_t kXOk = 1;
inline constexpr uint32_t kWOk = 2;
inline constexpr uint32_t kROk = 4;

// openat2(2): how a path may be resolved.
inline constexpr uint64_t kResolveNoXdev = 0x01;
inline constexpr uint64_t kResolveNoMagiclinks = 0x02;
inline constexpr uint64_t kResolveNoSymlinks = 0x04;
inline constexpr uint64_t kResolveBeneath = 0x08;
inline constexpr uint64_t kResolveInRoot = 0x10;
inline constexpr uint64_t kResolveCached = 0x20;
inline constexpr uint64_t kResolveValid = 0x3f;

// renameat2(2).
inline constexpr uint32_t kRenameNoreplace = 1;
inline constexpr uint32_t kRenameExchange = 2;

// File types and permission bits.
inline constexpr uint32_t kSIfmt = 0170000;
inline constexpr uint32_t kSIfsock = 0140000;
inline constexpr uint32_t kSIflnk = 0120000;
inline constexpr uint32_t kSIfreg = 0100000;
inline constexpr uint32_t kSIfblk = 0060000;
inline constexpr uint32_t kSIfdir = 0040000;
inline constexpr uint32_t kSIfchr = 0020000;
inline constexpr uint32_t kSIfifo = 0010000;
inline constexpr uint32_t kSIsuid = 04000;
inline constexpr uint32_t kSIsgid = 02000;
inline constexpr uint32_t kSIsvtx = 01000;
inline constexpr uint32_t kSIxgrp = 00010;
inline constexpr uint32_t kSIxugo = 00111;
inline constexpr uint32_t kPermissionBits = 07777;

// statx(2).
inline constexpr uint32_t kStatxType = 0x1;
inline constexpr uint32_t kStatxMode = 0x2;
inline constexpr uint32_t kStatxNlink = 0x4;
inline constexpr uint32_t kStatxUid = 0x8;
inline constexpr uint32_t kStatxGid = 0x10;
inline constexpr uint32_t kStatxAtime = 0x20;
inline constexpr uint32_t kStatxMtime = 0x40;
inline constexpr uint32_t kStatxCtime = 0x80;
inline constexpr uint32_t kStatxIno = 0x100;
inline constexpr uint32_t kStatxSize = 0x200;
inline constexpr uint32_t kStatxBlocks = 0x400;
inline constexpr uint32_t kStatxBasicStats = 0x7ff;
inline constexpr uint32_t kStatxBtime = 0x800;
inline constexpr uint32_t kStatxMntId = 0x1000;
inline constexpr uint32_t kStatxDioalign = 0x2000;
inline constexpr uint32_t kStatxMntIdUnique = 0x4000;
inline constexpr uint32_t kStatxReserved = 0x80000000;

inline constexpr uint64_t kStatxAttrImmutable = 0x10;
inline constexpr uint64_t kStatxAttrAppend = 0x20;
inline constexpr uint64_t kStatxAttrNodump = 0x40;
inline constexpr uint64_t kStatxAttrAutomount = 0x1000;
inline constexpr uint64_t kStatxAttrMountRoot = 0x2000;
inline constexpr uint64_t kStatxAttrDax = 0x200000;

// Limits (limits.h of the kernel).
inline constexpr uint32_t kNameMax = 255;
inline constexpr uint32_t kPathMax = 4096;  // with the terminating NUL
inline constexpr uint32_t kMaxSymlinks = 40;
inline constexpr uint32_t kNgroupsMax = 65536;

inline constexpr bool IsDirectory(uint32_t mode) {
  return (mode & kSIfmt) == kSIfdir;
}
inline constexpr bool IsRegular(uint32_t mode) {
  return (mode & kSIfmt) == kSIfreg;
}
inline constexpr bool IsSymlink(uint32_t mode) {
  return (mode & kSIfmt) == kSIflnk;
}
inline constexpr bool IsDevice(uint32_t mode) {
  return (mode & kSIfmt) == kSIfchr || (mode & kSIfmt) == kSIfblk;
}
inline constexpr bool IsFifo(uint32_t mode) {
  return (mode & kSIfmt) == kSIfifo;
}

// A device number as the API tells it: major and minor in one word.
inline constexpr uint64_t MakeDevice(uint32_t device_major,
                                     uint32_t device_minor) {
  return uint64_t{device_major} << 32 | device_minor;
}
inline constexpr uint32_t DeviceMajor(uint64_t device) {
  return static_cast<uint32_t>(device >> 32);
}
inline constexpr uint32_t DeviceMinor(uint64_t device) {
  return static_cast<uint32_t>(device);
}

}  // namespace vfsd::vfs::linux_abi
