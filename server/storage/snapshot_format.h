// The snapshot file: a mem file system's tree as one stream of records, which a
// server loads at start at millions of files a second.
//
// All numbers are little-endian.
//
//   file    = header block* end-block
//   header  = magic "VFSDSNAP", u32 version, u32 zero, u64 inodes, u64 names,
//             u64 checksum of the 32 bytes before
//   block   = u32 bytes (1 to kMaxBlockBytes), u32 zero, u64 checksum, then so
//             many bytes of whole records
//   end     = a block of 0 bytes, whose checksum is the exclusive or of all
//             blocks' checksums
//   record  = SnapshotRecord, name, target
//
// The records are the tree, depth first: the root directory (whose name is
// empty), then what is in it; each directory's record is followed by its
// entries and an end record. An inode with several names has kSnapshotLinked
// set in its record; its further names are link records that say which of those
// inodes they mean, counted from 0 in the order of their records.
//
// Version 1. A reader refuses other versions; whoever changes the layout counts
// it up. The checksum finds damage, not malice: a reader checks every record.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace vfsd::storage {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::array<char, 8> kSnapshotMagic = {'V', 'F', 'S', 'D',
                                                       'S', 'N', 'A', 'P'};
inline constexpr uint32_t kSnapshotVersion = 1;
inline constexpr size_t kMaxBlockBytes = size_t{1} << 20;

struct SnapshotHeader {
  std::array<char, 8> magic = kSnapshotMagic;
  uint32_t version = kSnapshotVersion;
  uint32_t zero = 0;
  uint64_t inodes = 0;  // the root's too
  uint64_t names = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(SnapshotHeader) == 40);

struct SnapshotBlock {
  uint32_t bytes = 0;
  uint32_t zero = 0;
  uint64_t checksum = 0;
};
static_assert(sizeof(SnapshotBlock) == 16);

enum class SnapshotRecordKind : uint8_t {
  kEnd = 0,  // of a directory
  kInode = 1,
  kLink = 2,  // a further name
};

// Bits of SnapshotRecord::flags.
inline constexpr uint8_t kSnapshotAllocated = 1;
inline constexpr uint8_t kSnapshotLinked = 2;

struct SnapshotRecord {
  SnapshotRecordKind kind = SnapshotRecordKind::kEnd;
  uint8_t flags = 0;
  uint8_t name_bytes = 0;
  uint8_t zero = 0;
  uint32_t target_bytes = 0;  // of a symbolic link
  uint32_t mode = 0;          // type and permissions
  uint32_t uid = 0;
  uint32_t gid = 0;
  uint32_t zero2 = 0;
  // A regular file's size, a device node's number, a link's inode.
  uint64_t value = 0;
  // Timestamp::packed(): seconds * 2^30 + nanoseconds.
  uint64_t atime = 0;
  uint64_t mtime = 0;
  uint64_t ctime = 0;
  uint64_t btime = 0;
};
static_assert(sizeof(SnapshotRecord) == 64);

// Of bytes, eight at a time; the last ones filled up with zeros.
inline uint64_t SnapshotChecksum(const char* data, size_t bytes) {
  constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15U;
  // Two lanes, since each step waits for the one before.
  uint64_t a = kMultiplier ^ bytes;
  uint64_t b = kMultiplier;
  const auto step = [](uint64_t hash, const char* from, size_t size) {
    uint64_t word = 0;
    std::memcpy(&word, from, size);
    hash = (hash ^ word) * kMultiplier;
    return hash ^ hash >> 32;
  };
  size_t at = 0;
  for (; at + 16 <= bytes; at += 16) {
    a = step(a, data + at, 8);
    b = step(b, data + at + 8, 8);
  }
  for (; at < bytes; at += 8)
    a = step(a, data + at, bytes - at < 8 ? bytes - at : 8);
  return a ^ std::rotl(b, 31);
}

}  // namespace vfsd::storage
