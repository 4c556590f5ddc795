// Snapshots: what is loaded is what was written, and a file that is damaged in
// any way is refused with a sentence that says so.

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/fs/mem/mem_file_system.h"
#include "server/storage/snapshot_format.h"
#include "server/storage/snapshot_loader.h"
#include "server/storage/snapshot_writer.h"
#include "server/sync/rcu.h"
#include "server/vfs/inode.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/namespace_link.h"

namespace vfsd::storage {
namespace {

using ::testing::HasSubstr;
namespace abi = vfs::linux_abi;

class SnapshotTest : public ::testing::Test {
 protected:
  SnapshotTest() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "vfsd_snapshot_XXXXXX")
            .string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    file_ = directory_ + "/tree.snapshot";
  }
  ~SnapshotTest() override {
    std::filesystem::remove_all(directory_);
    sync::RcuBarrier();
    EXPECT_EQ(vfs::live_objects::TakeSnapshot(), live_before_);
  }

  // details: what the inode is besides.
  static vfs::Inode& Add(
      vfs::FileSystem& file_system, vfs::Inode& parent, std::string_view name,
      uint32_t mode,
      const std::function<void(vfs::Inode::Init&)>& details = {}) {
    vfs::Inode::Init init;
    init.mode = mode;
    if (details) details(init);
    init.ino = file_system.NextInodeNumber();
    if (abi::IsDirectory(mode)) init.nlink = 2;
    auto inode = vfs::PinnedInode::Adopt(new vfs::Inode(std::move(init)));
    vfs::Inode& added = *inode;
    EXPECT_EQ(vfs::CreateChild(file_system, parent, name, std::move(inode)),
              Errno::kOk);
    return added;
  }

  // A tree with one of everything.
  static std::shared_ptr<mem::MemFileSystem> MakeTree() {
    auto tree = std::make_shared<mem::MemFileSystem>(
        mem::RootOptions{.mode = 01777, .uid = 3, .gid = 4});
    vfs::Inode& root = tree->root();
    vfs::Inode& file = Add(*tree, root, "file", abi::kSIfreg | 04755,
                           [](vfs::Inode::Init& init) {
                             init.uid = 1000;
                             init.gid = 100;
                             init.size = uint64_t{5} << 40;
                             init.atime = Timestamp(-5, 999'999'999);
                             init.mtime = Timestamp(4'000'000'000, 1);
                             init.ctime = Timestamp(7, 8);
                             init.btime = Timestamp(9, 10);
                             init.allocated = true;
                           });
    vfs::Inode& sub = Add(*tree, root, "directory", abi::kSIfdir | 0700);
    Add(*tree, sub, std::string(255, 'n'), abi::kSIfreg);
    Add(*tree, sub, "\xff\n\x01", abi::kSIfreg | 0600);
    EXPECT_EQ(vfs::LinkChild(*tree, sub, "further name", file), Errno::kOk);
    vfs::Inode& deep = Add(*tree, sub, "deep", abi::kSIfdir | 02775);
    Add(*tree, deep, "link", abi::kSIflnk | 0777,
        [](vfs::Inode::Init& init) { init.target = "../somewhere"; });
    Add(*tree, root, "device", abi::kSIfchr | 0620,
        [](vfs::Inode::Init& init) { init.device = abi::MakeDevice(5, 1); });
    Add(*tree, root, "pipe", abi::kSIfifo | 0600);
    Add(*tree, root, "socket", abi::kSIfsock | 0600);
    for (int i = 0; i < 2'000; ++i)
      Add(*tree, deep, fmt::format("many {}", i), abi::kSIfreg | 0644);
    return tree;
  }

  // Every path with what there is to say of it. Names of one inode say so.
  using Listing = std::map<std::string, std::string>;
  static void List(vfs::Inode& directory, const std::string& path,
                   std::map<const vfs::Inode*, std::string>& seen,
                   Listing& listing) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    listing[path + "/"] = Describe(directory);
    for (const vfs::Dentry* dentry : directory.directory().children) {
      vfs::Inode& inode = dentry->inode();
      const std::string below = path + "/" + std::string(dentry->name());
      if (inode.IsDirectory()) {
        List(inode, below, seen, listing);
      } else {
        const auto [it, first] = seen.try_emplace(&inode, below);
        listing[below] = first ? Describe(inode) : "same as " + it->second;
      }
    }
  }
  static Listing ListAll(vfs::FileSystem& file_system) {
    std::map<const vfs::Inode*, std::string> seen;
    Listing listing;
    List(file_system.root(), "", seen, listing);
    return listing;
  }
  static std::string Describe(const vfs::Inode& inode) {
    const vfs::InodeAttributes a = inode.ReadAttributes();
    return fmt::format(
        "{:o} nlink {} owner {}:{} size {} {} {} {} {} {} device {} {}", a.mode,
        a.nlink, a.uid, a.gid, a.size, a.allocated, a.atime.packed(),
        a.mtime.packed(), a.ctime.packed(), inode.btime().packed(),
        inode.device(),
        inode.IsSymlink() ? std::string(inode.symlink_target()) : "");
  }

  std::string ReadFile() const {
    std::ostringstream content;
    content << std::ifstream(file_, std::ios::binary).rdbuf();
    return content.str();
  }
  void WriteFile(const std::string& content) const {
    std::ofstream(file_, std::ios::binary) << content;
  }
  std::string LoadError() const {
    const auto tree = LoadSnapshot(file_);
    return tree.has_value() ? "none" : tree.error();
  }

  const vfs::live_objects::Snapshot live_before_ = [] {
    sync::RcuBarrier();
    return vfs::live_objects::TakeSnapshot();
  }();
  std::string directory_;
  std::string file_;
};

TEST_F(SnapshotTest, LoadsWhatWasWritten) {
  const auto tree = MakeTree();
  const auto written = WriteSnapshot(*tree, file_);
  ASSERT_TRUE(written.has_value()) << written.error();
  const auto loaded = LoadSnapshot(file_);
  ASSERT_TRUE(loaded.has_value()) << loaded.error();
  EXPECT_EQ(ListAll(*loaded->file_system), ListAll(*tree));
  EXPECT_EQ(loaded->report.inodes(), written->inodes());
  EXPECT_EQ(loaded->report.names(), written->names());
  EXPECT_EQ(loaded->report.hard_links, 1U);
  EXPECT_EQ(loaded->report.name_bytes, written->name_bytes);
  EXPECT_EQ(loaded->report.content_bytes, written->content_bytes);
}

TEST_F(SnapshotTest, AnEmptyTreeToo) {
  mem::MemFileSystem empty;
  ASSERT_TRUE(WriteSnapshot(empty, file_).has_value());
  const auto loaded = LoadSnapshot(file_);
  ASSERT_TRUE(loaded.has_value()) << loaded.error();
  EXPECT_EQ(ListAll(*loaded->file_system), ListAll(empty));
}

TEST_F(SnapshotTest, WritesTheSameFileAgain) {
  const auto tree = MakeTree();
  ASSERT_TRUE(WriteSnapshot(*tree, file_).has_value());
  const std::string first = ReadFile();
  ASSERT_TRUE(WriteSnapshot(*tree, file_).has_value());
  EXPECT_EQ(ReadFile(), first);
  // Nothing else is left beside it.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(directory_),
                          std::filesystem::directory_iterator()),
            1);
}

TEST_F(SnapshotTest, SaysWhatIsWrongWithAFile) {
  EXPECT_THAT(LoadError(), HasSubstr("No such file or directory"));
  WriteFile("");
  EXPECT_THAT(LoadError(), HasSubstr("ends too early"));
  WriteFile(std::string(1000, 'x'));
  EXPECT_THAT(LoadError(), HasSubstr("no vfsd snapshot"));
  SnapshotHeader newer;
  newer.version = kSnapshotVersion + 1;
  WriteFile(std::string(reinterpret_cast<const char*>(&newer), sizeof(newer)));
  EXPECT_THAT(LoadError(), HasSubstr("its version is 2"));
}

TEST_F(SnapshotTest, RefusesATruncatedFile) {
  ASSERT_TRUE(WriteSnapshot(*MakeTree(), file_).has_value());
  const std::string whole = ReadFile();
  for (size_t size = 0; size < whole.size(); size += 997) {
    WriteFile(whole.substr(0, size));
    EXPECT_THAT(LoadError(), HasSubstr("ends too early")) << size;
  }
  WriteFile(whole.substr(0, whole.size() - 1));
  EXPECT_THAT(LoadError(), HasSubstr("ends too early"));
}

TEST_F(SnapshotTest, FindsEveryChangedByte) {
  ASSERT_TRUE(WriteSnapshot(*MakeTree(), file_).has_value());
  const std::string whole = ReadFile();
  for (size_t at = 0; at < whole.size(); at += at < 400 ? 1 : 4999) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    WriteFile(changed);
    EXPECT_NE(LoadError(), "none") << "byte " << at;
  }
}

// Records that no writer writes, with right checksums.
TEST_F(SnapshotTest, RefusesRecordsThatMakeNoTree) {
  struct Part {
    SnapshotRecord record;
    std::string name = "";
  };
  const SnapshotRecord end;
  const auto inode = [](uint32_t mode, std::string_view name) {
    SnapshotRecord record;
    record.kind = SnapshotRecordKind::kInode;
    record.name_bytes = static_cast<uint8_t>(name.size());
    record.mode = mode;
    return record;
  };
  const SnapshotRecord root = inode(abi::kSIfdir | 0755, "");
  const auto load = [this](const std::vector<Part>& parts) {
    std::string records;
    for (const auto& [record, name] : parts) {
      records.append(reinterpret_cast<const char*>(&record), sizeof(record));
      records += name;
    }
    SnapshotHeader header;
    header.inodes = 1;
    header.checksum = SnapshotChecksum(reinterpret_cast<const char*>(&header),
                                       offsetof(SnapshotHeader, checksum));
    SnapshotBlock block;
    block.bytes = static_cast<uint32_t>(records.size());
    block.checksum = SnapshotChecksum(records.data(), records.size());
    SnapshotBlock last;
    last.checksum = block.checksum;
    std::string file(reinterpret_cast<const char*>(&header), sizeof(header));
    file.append(reinterpret_cast<const char*>(&block), sizeof(block));
    file += records;
    file.append(reinterpret_cast<const char*>(&last), sizeof(last));
    WriteFile(file);
    return LoadError();
  };
  EXPECT_EQ(load({{root}, {end}}), "none");
  EXPECT_THAT(load({{root}}), HasSubstr("not complete"));
  EXPECT_THAT(load({{end}}), HasSubstr("not the root"));
  EXPECT_THAT(load({{root}, {end}, {end}}), HasSubstr("follows the root"));
  EXPECT_THAT(load({{root}, {inode(abi::kSIfreg, "a"), "a"}, {end}}),
              HasSubstr("another number of files"));
  EXPECT_THAT(load({{root},
                    {inode(abi::kSIfreg, "a"), "a"},
                    {inode(abi::kSIfreg, "a"), "a"},
                    {end}}),
              HasSubstr("File exists"));
  EXPECT_THAT(load({{root}, {inode(abi::kSIfreg, ".."), ".."}, {end}}),
              HasSubstr("Invalid argument"));
  EXPECT_THAT(load({{root}, {inode(0, "a"), "a"}, {end}}),
              HasSubstr("unknown type"));
  EXPECT_THAT(load({{root}, {inode(abi::kSIflnk, "a"), "a"}, {end}}),
              HasSubstr("without a target"));
  SnapshotRecord link = inode(0, "a");
  link.kind = SnapshotRecordKind::kLink;
  EXPECT_THAT(load({{root}, {link, "a"}, {end}}),
              HasSubstr("an inode that is not there"));
  SnapshotRecord unknown;
  unknown.kind = SnapshotRecordKind{9};
  EXPECT_THAT(load({{root}, {unknown}, {end}}), HasSubstr("unknown kind"));
  SnapshotRecord long_target = inode(abi::kSIflnk, "");
  long_target.target_bytes = 0xffffffff;
  EXPECT_THAT(load({{root}, {long_target}}), HasSubstr("cut off"));
}

TEST_F(SnapshotTest, AFileThatCannotBeWrittenIsTold) {
  mem::MemFileSystem empty;
  const auto written = WriteSnapshot(empty, directory_ + "/missing/file");
  ASSERT_FALSE(written.has_value());
  EXPECT_THAT(written.error(), HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace vfsd::storage
