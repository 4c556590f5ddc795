#include "server/storage/snapshot_loader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "fmt/format.h"
#include "server/fs/mem/mem_file_system.h"
#include "server/storage/snapshot_format.h"
#include "server/vfs/inode.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/synthetic_file.h"

namespace vfsd::storage {
namespace {

namespace abi = vfs::linux_abi;

bool IsKnownType(uint32_t mode) {
  return abi::IsRegular(mode) || abi::IsDirectory(mode) ||
         abi::IsSymlink(mode) || abi::IsDevice(mode) || abi::IsFifo(mode) ||
         (mode & abi::kSIfmt) == abi::kSIfsock;
}

class SnapshotLoader {
 public:
  explicit SnapshotLoader(const std::string& path) : path_(path) {}
  ~SnapshotLoader() {
    if (fd_ >= 0) close(fd_);
  }
  SnapshotLoader(const SnapshotLoader&) = delete;
  SnapshotLoader& operator=(const SnapshotLoader&) = delete;

  std::expected<ImportedTree, std::string> Run() {
    const absl::Time begin = absl::Now();
    if (!Load()) return std::unexpected(std::move(error_));
    tree_.report.seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    return std::move(tree_);
  }

 private:
  // A directory whose entries are being read. Its own changes stamp its times,
  // so they are set at its end.
  struct OpenDirectory {
    vfs::Inode* inode;
    Timestamp mtime;
    Timestamp ctime;
  };

  // Sets error_.
  bool Wrong(std::string_view why) {
    error_ = fmt::format("snapshot {}: {}", path_, why);
    return false;
  }
  bool WrongAt(uint64_t offset, std::string_view why) {
    return Wrong(fmt::format("at byte {}: {}", offset, why));
  }

  bool Read(void* to, size_t bytes) {
    char* at = static_cast<char*>(to);
    while (bytes != 0) {
      const ssize_t size = read(fd_, at, bytes);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return WrongAt(offset_, std::strerror(errno));
      if (size == 0) return WrongAt(offset_, "the file ends too early");
      at += size;
      offset_ += static_cast<uint64_t>(size);
      bytes -= static_cast<size_t>(size);
    }
    return true;
  }

  bool Load() {
    fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) return Wrong(std::strerror(errno));
    posix_fadvise(fd_, 0, 0, POSIX_FADV_SEQUENTIAL);
    SnapshotHeader header;
    if (!Read(&header, sizeof(header))) return false;
    if (header.magic != kSnapshotMagic) return Wrong("it is no vfsd snapshot");
    if (header.version != kSnapshotVersion) {
      return Wrong(fmt::format("its version is {}, and this vfsd reads {}",
                               header.version, kSnapshotVersion));
    }
    if (header.checksum !=
        SnapshotChecksum(reinterpret_cast<const char*>(&header),
                         offsetof(SnapshotHeader, checksum))) {
      return Wrong("its header is damaged (checksum)");
    }
    // Room for all names, but for no more than the file can hold.
    struct stat file;
    if (fstat(fd_, &file) != 0) return Wrong(std::strerror(errno));
    names_expected_ =
        std::min(header.names,
                 static_cast<uint64_t>(file.st_size) / sizeof(SnapshotRecord));
    uint64_t checksums = 0;
    std::vector<char> buffer(kMaxBlockBytes);
    for (;;) {
      const uint64_t begin = offset_;
      SnapshotBlock block;
      if (!Read(&block, sizeof(block))) return false;
      if (block.zero != 0) return WrongAt(begin, "the block's head is damaged");
      if (block.bytes == 0) {
        if (block.checksum != checksums)
          return WrongAt(begin, "the end is damaged (checksum)");
        break;
      }
      if (block.bytes > kMaxBlockBytes)
        return WrongAt(begin, "a block is too large");
      if (!Read(buffer.data(), block.bytes)) return false;
      if (SnapshotChecksum(buffer.data(), block.bytes) != block.checksum)
        return WrongAt(begin, "the block is damaged (checksum)");
      checksums ^= block.checksum;
      if (!LoadBlock({buffer.data(), block.bytes}, begin + sizeof(block)))
        return false;
    }
    if (tree_.file_system == nullptr || !open_.empty())
      return WrongAt(offset_, "the tree is not complete");
    if (tree_.report.inodes() != header.inodes ||
        tree_.report.names() != header.names) {
      return Wrong("it holds another number of files than its header says");
    }
    return true;
  }

  // offset: of the block's records in the file.
  bool LoadBlock(std::string_view block, uint64_t offset) {
    size_t at = 0;
    while (at < block.size()) {
      const uint64_t here = offset + at;
      SnapshotRecord record;
      if (block.size() - at < sizeof(record))
        return WrongAt(here, "a record is cut off");
      std::memcpy(&record, block.data() + at, sizeof(record));
      at += sizeof(record);
      const uint64_t text_bytes =
          uint64_t{record.name_bytes} + record.target_bytes;
      if (block.size() - at < text_bytes)
        return WrongAt(here, "a record is cut off");
      const std::string_view name = block.substr(at, record.name_bytes);
      const std::string_view target =
          block.substr(at + record.name_bytes, record.target_bytes);
      at += static_cast<size_t>(text_bytes);
      PrefetchNext(block.substr(at));
      const std::string_view wrong = LoadRecord(record, name, target);
      if (!wrong.empty()) return WrongAt(here, wrong);
    }
    return true;
  }

  // The next record's name will be looked for in the table, which is a cache
  // miss in a large tree: begin with it now. It is mostly in the directory that
  // is being read.
  void PrefetchNext(std::string_view rest) const {
    SnapshotRecord record;
    if (open_.empty() || rest.size() < sizeof(record)) return;
    std::memcpy(&record, rest.data(), sizeof(record));
    const std::string_view name =
        rest.substr(sizeof(record), record.name_bytes);
    tree_.file_system->dentries().Prefetch(open_.back().inode, name);
  }

  // What is wrong with it; empty: nothing.
  std::string_view LoadRecord(const SnapshotRecord& record,
                              std::string_view name, std::string_view target) {
    if (tree_.file_system == nullptr) return LoadRoot(record, name);
    if (open_.empty()) return "something follows the root's end";
    switch (record.kind) {
      case SnapshotRecordKind::kEnd:
        CloseDirectory();
        return "";
      case SnapshotRecordKind::kInode:
        return LoadInode(record, name, target);
      case SnapshotRecordKind::kLink: {
        if (record.value >= linked_.size())
          return "a further name of an inode that is not there";
        const Errno error =
            vfs::LinkChild(*tree_.file_system, *open_.back().inode, name,
                           *linked_[record.value].inode);
        if (error != Errno::kOk) return ErrnoText(error);
        // A link changes it.
        SetChangeTime(linked_[record.value]);
        ++tree_.report.hard_links;
        tree_.report.name_bytes += name.size();
        return "";
      }
    }
    return "an unknown kind of record";
  }

  std::string_view LoadRoot(const SnapshotRecord& record,
                            std::string_view name) {
    if (record.kind != SnapshotRecordKind::kInode || !name.empty() ||
        !abi::IsDirectory(record.mode)) {
      return "the first record is not the root directory";
    }
    tree_.file_system = std::make_shared<mem::MemFileSystem>(mem::RootOptions{
        .mode = record.mode,
        .uid = record.uid,
        .gid = record.gid,
        .atime = Timestamp::FromPacked(record.atime),
        .mtime = Timestamp::FromPacked(record.mtime),
        .ctime = Timestamp::FromPacked(record.ctime),
        .btime = Timestamp::FromPacked(record.btime),
    });
    tree_.file_system->dentries().Reserve(names_expected_);
    tree_.report.CountInode(record.mode, 0);
    Open(tree_.file_system->root(), record);
    return "";
  }

  std::string_view LoadInode(const SnapshotRecord& record,
                             std::string_view name, std::string_view target) {
    if (!IsKnownType(record.mode)) return "an unknown type of file";
    if (abi::IsSymlink(record.mode) == target.empty())
      return "a symbolic link without a target, or a target without a link";
    vfs::FileSystem& file_system = *tree_.file_system;
    const bool is_directory = abi::IsDirectory(record.mode);
    vfs::Inode::Init init;
    init.mode = record.mode & (abi::kSIfmt | abi::kPermissionBits);
    init.uid = record.uid;
    init.gid = record.gid;
    init.ino = file_system.NextInodeNumber();
    if (is_directory) {
      init.nlink = 2;
      init.size = file_system.traits().directory_size_base;
    } else if (abi::IsRegular(record.mode)) {
      init.size = record.value;
    } else if (abi::IsDevice(record.mode)) {
      init.device = record.value;
    }
    init.allocated = (record.flags & kSnapshotAllocated) != 0;
    init.atime = Timestamp::FromPacked(record.atime);
    init.mtime = Timestamp::FromPacked(record.mtime);
    init.ctime = Timestamp::FromPacked(record.ctime);
    init.btime = Timestamp::FromPacked(record.btime);
    init.target = target;
    vfs::PinnedInode made =
        vfs::PinnedInode::Adopt(new vfs::Inode(std::move(init)));
    // The namespace's reference keeps it: nothing is removed from this tree.
    vfs::Inode& inode = *made;
    const Errno error = vfs::CreateChild(file_system, *open_.back().inode, name,
                                         std::move(made));
    if (error != Errno::kOk) return ErrnoText(error);
    tree_.report.CountInode(record.mode, record.value);
    tree_.report.name_bytes += name.size();
    if ((record.flags & kSnapshotLinked) != 0)
      linked_.push_back({&inode, Timestamp::FromPacked(record.mtime),
                         Timestamp::FromPacked(record.ctime)});
    if (is_directory) Open(inode, record);
    return "";
  }

  void Open(vfs::Inode& inode, const SnapshotRecord& record) {
    open_.push_back({&inode, Timestamp::FromPacked(record.mtime),
                     Timestamp::FromPacked(record.ctime)});
  }

  void CloseDirectory() {
    const OpenDirectory directory = open_.back();
    open_.pop_back();
    {
      sync::SeqLockWriter writer(directory.inode->attribute_lock);
      directory.inode->SetModifyTime(directory.mtime);
    }
    SetChangeTime(directory);
  }

  static void SetChangeTime(const OpenDirectory& of) {
    sync::SeqLockWriter writer(of.inode->attribute_lock);
    of.inode->SetChangeTime(of.ctime);
  }

  const std::string path_;
  int fd_ = -1;
  uint64_t offset_ = 0;
  uint64_t names_expected_ = 0;
  std::string error_;
  ImportedTree tree_;
  std::vector<OpenDirectory> open_;
  // Inodes that have further names.
  std::vector<OpenDirectory> linked_;
};

}  // namespace

std::expected<ImportedTree, std::string> LoadSnapshot(const std::string& path) {
  return SnapshotLoader(path).Run();
}

}  // namespace vfsd::storage
