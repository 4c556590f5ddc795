// Fuzzes the response encoder: what it writes of any result must be read by the
// generated classes as just that. The input's bytes become the result's fields.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "server/rpc/response_encoder.h"
#include "server/rpc/utf8.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsd::rpc {
namespace {

namespace v1 = ::vfs::v1;

// Takes values off the input; zeros when it is used up.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  template <typename Value>
  Value Take() {
    Value value{};
    const size_t size = std::min(sizeof(value), rest_.size());
    if (size != 0) std::memcpy(&value, rest_.data(), size);
    rest_.remove_prefix(size);
    return value;
  }
  std::string TakeName() {
    const size_t size = std::min<size_t>(Take<uint8_t>(), rest_.size());
    const std::string name(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return name;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::string Encoded(WireWriter& writer) {
  const grpc::ByteBuffer buffer = writer.Take();
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices)
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

Timestamp TakeTime(Input& input) {
  return Timestamp(input.Take<int64_t>(),
                   input.Take<uint32_t>() % 1'000'000'000);
}

vfs::Statx TakeStatx(Input& input) {
  vfs::Statx statx;
  for (uint32_t* field :
       {&statx.mask, &statx.blksize, &statx.nlink, &statx.uid, &statx.gid,
        &statx.mode, &statx.rdev_major, &statx.rdev_minor, &statx.dev_major,
        &statx.dev_minor, &statx.dio_mem_align, &statx.dio_offset_align}) {
    *field = input.Take<uint32_t>();
  }
  for (uint64_t* field : {&statx.attributes, &statx.attributes_mask, &statx.ino,
                          &statx.size, &statx.blocks, &statx.mnt_id}) {
    *field = input.Take<uint64_t>();
  }
  for (Timestamp* time :
       {&statx.atime, &statx.btime, &statx.ctime, &statx.mtime}) {
    *time = TakeTime(input);
  }
  return statx;
}

void ExpectSame(const vfs::Statx& statx, const v1::StatResponse& message) {
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
  EXPECT_EQ(message.atime_seconds(), statx.atime.seconds());
  EXPECT_EQ(message.atime_nanoseconds(), statx.atime.nanoseconds());
  EXPECT_EQ(message.btime_seconds(), statx.btime.seconds());
  EXPECT_EQ(message.btime_nanoseconds(), statx.btime.nanoseconds());
  EXPECT_EQ(message.ctime_seconds(), statx.ctime.seconds());
  EXPECT_EQ(message.ctime_nanoseconds(), statx.ctime.nanoseconds());
  EXPECT_EQ(message.mtime_seconds(), statx.mtime.seconds());
  EXPECT_EQ(message.mtime_nanoseconds(), statx.mtime.nanoseconds());
  EXPECT_EQ(message.rdev_major(), statx.rdev_major);
  EXPECT_EQ(message.rdev_minor(), statx.rdev_minor);
  EXPECT_EQ(message.dev_major(), statx.dev_major);
  EXPECT_EQ(message.dev_minor(), statx.dev_minor);
  EXPECT_EQ(message.mnt_id(), statx.mnt_id);
  EXPECT_EQ(message.dio_mem_align(), statx.dio_mem_align);
  EXPECT_EQ(message.dio_offset_align(), statx.dio_offset_align);
}

void Stat(Input input) {
  const vfs::Statx statx = TakeStatx(input);
  WireWriter writer;
  EncodeResponse(writer, statx);
  v1::StatResponse message;
  ASSERT_TRUE(message.ParseFromString(Encoded(writer)));
  ExpectSame(statx, message);
}

void Link(Input input) {
  const std::string target = input.TakeName();
  WireWriter writer;
  EncodeResponse(writer, target);
  v1::ReadLinkResponse message;
  ASSERT_TRUE(message.ParseFromString(Encoded(writer)));
  EXPECT_EQ(message.has_target(), IsUtf8(target));
  EXPECT_EQ(message.has_target() ? message.target() : message.raw_target(),
            target);
}

void Directory(Input input) {
  constexpr size_t kMaxEntries = 64;
  const bool with_attributes = input.Take<uint8_t>() % 2 != 0;
  vfs::DirectoryPage page;
  page.next_cursor = input.Take<uint64_t>();
  while (!input.empty() && page.entries.size() < kMaxEntries) {
    vfs::DirectoryEntry& entry = page.entries.emplace_back();
    entry.name = input.TakeName();
    entry.ino = input.Take<uint64_t>();
    entry.type = input.Take<uint8_t>();
    if (with_attributes) entry.attributes = TakeStatx(input);
  }
  WireWriter writer;
  EncodeResponse(writer, page, with_attributes);
  v1::ReadDirectoryResponse message;
  ASSERT_TRUE(message.ParseFromString(Encoded(writer)));
  EXPECT_EQ(message.next_cursor(), page.next_cursor);
  ASSERT_EQ(static_cast<size_t>(message.entries_size()), page.entries.size());
  for (size_t i = 0; i < page.entries.size(); ++i) {
    const vfs::DirectoryEntry& entry = page.entries[i];
    const v1::DirectoryEntry& read = message.entries(static_cast<int>(i));
    EXPECT_EQ(read.has_name() ? read.name() : read.raw_name(), entry.name);
    EXPECT_EQ(read.ino(), entry.ino);
    EXPECT_EQ(read.type(), entry.type);
    ASSERT_EQ(read.has_attributes(), with_attributes);
    if (with_attributes) ExpectSame(entry.attributes, read.attributes());
  }
}

}  // namespace
}  // namespace vfsd::rpc

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  // A difference ends the run where it is: what is thrown is not caught, and
  // libFuzzer keeps the input.
  GTEST_FLAG_SET(throw_on_failure, true);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  vfsd::rpc::Stat(vfsd::rpc::Input(bytes));
  vfsd::rpc::Link(vfsd::rpc::Input(bytes));
  vfsd::rpc::Directory(vfsd::rpc::Input(bytes));
  return 0;
}
