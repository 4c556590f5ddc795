// What the encoder writes, read by the generated classes.
#include "server/rpc/response_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "server/base/call_statistics.h"
#include "server/rpc/utf8.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {
namespace {

namespace v1 = ::vfs::v1;

std::string Take(WireWriter& writer) {
  const size_t size = writer.size();
  const grpc::ByteBuffer buffer = writer.Take();
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  EXPECT_EQ(bytes.size(), size);
  EXPECT_EQ(writer.size(), 0u);
  return bytes;
}

TEST(WireWriterTest, WhatIsPreparedAndPlacedIsSent) {
  WireWriter writer;
  std::string expected;
  for (size_t i = 0; i < 2000; ++i) {
    const size_t head = i % 3;
    const size_t asked = i % 5 == 0 ? 1 << 20 : i % 7 == 0 ? 20'000 : 100;
    const std::string came(std::min(asked, i % 90), static_cast<char>(i));
    const std::span<char> memory = writer.Prepare(head, asked);
    ASSERT_EQ(memory.size(), asked);
    std::ranges::copy(came, memory.begin());
    writer.Place(head, memory.first(came.size()));
    for (size_t j = 0; j < head; ++j) writer.PutByte('h');
    writer.Skip(came.size());
    expected += std::string(head, 'h') + came;
  }
  EXPECT_EQ(Take(writer), expected);
}

// Every field another value, the largest where it may be.
vfs::Statx FullStatx() {
  vfs::Statx statx;
  uint32_t next = 0xfffffff0;
  for (uint32_t* field :
       {&statx.mask, &statx.blksize, &statx.nlink, &statx.uid, &statx.gid,
        &statx.mode, &statx.rdev_major, &statx.rdev_minor, &statx.dev_major,
        &statx.dev_minor, &statx.dio_mem_align, &statx.dio_offset_align}) {
    *field = next++;
  }
  uint64_t wide = 0xfffffffffffffff0;
  for (uint64_t* field : {&statx.attributes, &statx.attributes_mask, &statx.ino,
                          &statx.size, &statx.blocks, &statx.mnt_id}) {
    *field = wide++;
  }
  statx.atime = Timestamp(1, 2);
  statx.btime = Timestamp(-3, 999'999'999);
  statx.ctime = Timestamp(5, 6);
  statx.mtime = Timestamp(7, 8);
  return statx;
}

TEST(ResponseEncoderTest, EveryFieldOfAStat) {
  const vfs::Statx statx = FullStatx();
  WireWriter writer;
  EncodeResponse(writer, statx);
  EXPECT_LE(writer.size(), kMaxStatBytes);
  v1::StatResponse message;
  ASSERT_TRUE(message.ParseFromString(Take(writer)));
  EXPECT_EQ(message.mask(), statx.mask);
  EXPECT_EQ(message.blksize(), statx.blksize);
  EXPECT_EQ(message.attributes(), statx.attributes);
  EXPECT_EQ(message.attributes_mask(), statx.attributes_mask);
  EXPECT_EQ(message.nlink(), statx.nlink);
  EXPECT_EQ(message.uid(), statx.uid);
  EXPECT_EQ(message.gid(), statx.gid);
  EXPECT_EQ(message.mode(), statx.mode);
  EXPECT_EQ(message.ino(), statx.ino);
  EXPECT_EQ(message.size(), statx.size);
  EXPECT_EQ(message.blocks(), statx.blocks);
  EXPECT_EQ(message.atime_seconds(), 1);
  EXPECT_EQ(message.atime_nanoseconds(), 2u);
  EXPECT_EQ(message.btime_seconds(), -3);
  EXPECT_EQ(message.btime_nanoseconds(), 999'999'999u);
  EXPECT_EQ(message.ctime_seconds(), 5);
  EXPECT_EQ(message.ctime_nanoseconds(), 6u);
  EXPECT_EQ(message.mtime_seconds(), 7);
  EXPECT_EQ(message.mtime_nanoseconds(), 8u);
  EXPECT_EQ(message.rdev_major(), statx.rdev_major);
  EXPECT_EQ(message.rdev_minor(), statx.rdev_minor);
  EXPECT_EQ(message.dev_major(), statx.dev_major);
  EXPECT_EQ(message.dev_minor(), statx.dev_minor);
  EXPECT_EQ(message.mnt_id(), statx.mnt_id);
  EXPECT_EQ(message.dio_mem_align(), statx.dio_mem_align);
  EXPECT_EQ(message.dio_offset_align(), statx.dio_offset_align);
}

TEST(ResponseEncoderTest, NothingIsLeftOfDefaults) {
  WireWriter writer;
  EncodeResponse(writer, vfs::Statx());
  EncodeResponse(writer, vfs::Done());
  EncodeResponse(writer, vfs::DirectoryPage(), false);
  EXPECT_EQ(Take(writer), "");
}

// Larger than any chunk, so that submessages lie across chunks.
TEST(ResponseEncoderTest, DirectoryPagesOfAnySize) {
  for (const size_t entries : {0u, 1u, 100u, 10'000u}) {
    vfs::DirectoryPage page;
    for (size_t i = 0; i < entries; ++i) {
      vfs::DirectoryEntry& entry = page.entries.emplace_back();
      entry.name = std::string(1 + i % 255, i % 3 == 0 ? '\xe9' : 'n');
      entry.ino = i + 1;
      entry.type = 8;
      entry.attributes = FullStatx();
    }
    page.next_cursor = 42;
    for (const bool with_attributes : {false, true}) {
      WireWriter writer;
      EncodeResponse(writer, page, with_attributes);
      EXPECT_LE(writer.size(), 16 + entries * MaxEntryBytes(with_attributes));
      v1::ReadDirectoryResponse message;
      ASSERT_TRUE(message.ParseFromString(Take(writer)));
      EXPECT_EQ(message.next_cursor(), 42u);
      ASSERT_EQ(static_cast<size_t>(message.entries_size()), entries);
      for (size_t i = 0; i < entries; ++i) {
        const v1::DirectoryEntry& entry = message.entries(static_cast<int>(i));
        EXPECT_EQ(i % 3 == 0 ? entry.raw_name() : entry.name(),
                  page.entries[i].name);
        EXPECT_EQ(entry.ino(), i + 1);
        EXPECT_EQ(entry.has_attributes(), with_attributes);
        if (with_attributes) {
          EXPECT_EQ(entry.attributes().mnt_id(), FullStatx().mnt_id);
        }
      }
    }
  }
}

TEST(ResponseEncoderTest, ReadsOfAnySize) {
  for (const size_t size : {0u, 1u, 127u, 128u, 4096u, kMaxReadBytes}) {
    WireWriter writer;
    writer.Ensure(kReadHeadBytes + size);
    const std::string data(size, 'd');
    std::copy(data.begin(), data.end(), writer.cursor() + kReadHeadBytes);
    EncodeFilledRead(writer, size);
    v1::ReadResponse message;
    ASSERT_TRUE(message.ParseFromString(Take(writer)));
    EXPECT_EQ(message.data(), data);
  }
}

TEST(ResponseEncoderTest, Errors) {
  WireWriter writer;
  EncodeErrno(writer, Errno::kENOENT);
  v1::StatResponse alone;
  ASSERT_TRUE(alone.ParseFromString(Take(writer)));
  EXPECT_EQ(alone.errno_code(), 2);
  EncodeBatchErrno(writer, Errno::kECANCELED);
  EncodeBatchErrno(writer, Errno::kOk);
  v1::BatchResponse rows;
  ASSERT_TRUE(rows.ParseFromString(Take(writer)));
  ASSERT_EQ(rows.results_size(), 2);
  EXPECT_EQ(rows.results(0).errno_code(), 125);
  EXPECT_EQ(rows.results(1).errno_code(), 0);
}

TEST(Utf8Test, WhatRfc3629Says) {
  for (const char* good :
       {"", "plain", "eight bytes and more", "\u00e9", "\u0800", "\uffff",
        "\U00010000", "\U0010ffff", "12345678\u00e9"}) {
    EXPECT_TRUE(IsUtf8(good)) << good;
  }
  EXPECT_TRUE(IsUtf8(std::string_view("\0", 1)));
  for (const char* bad :
       {"\x80", "\xc0\xaf", "\xc1\xbf", "\xc3", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xef\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff", "12345678\xe9", "1234567\xc3"}) {
    EXPECT_FALSE(IsUtf8(bad)) << testing::PrintToString(bad);
  }
}

TEST(CallStatisticsTest, CountsByMethodCodeAndDuration) {
  CallStatistics statistics({{.service = "s", .name = "A", .streaming = false},
                             {.service = "s", .name = "B", .streaming = true}});
  statistics.CountStarted(1);
  statistics.CountStarted(1);
  statistics.CountHandled(1, 5, 10'000);
  statistics.CountReceived(1);
  statistics.CountSent(1);
  const CallStatistics::Totals totals = statistics.Read(1);
  EXPECT_EQ(totals.started, 2u);
  EXPECT_EQ(totals.handled[5], 1u);
  EXPECT_EQ(totals.buckets[0], 1u) << "bounds are inclusive";
  EXPECT_EQ(totals.sum_nanoseconds, 10'000u);
  EXPECT_EQ(totals.received, 1u);
  EXPECT_EQ(totals.sent, 1u);
  EXPECT_EQ(totals.in_flight(), 1u);
  EXPECT_EQ(statistics.in_flight(), 1u);
  EXPECT_EQ(statistics.Read(0).started, 0u);
  statistics.CountHandled(1, 0, UINT64_C(20'000'000'000));
  EXPECT_EQ(statistics.Read(1).buckets.back(), 1u);
  EXPECT_EQ(statistics.in_flight(), 0u);
}

}  // namespace
}  // namespace vfsd::rpc
