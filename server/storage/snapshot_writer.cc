#include "server/storage/snapshot_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "fmt/format.h"
#include "server/storage/snapshot_format.h"
#include "server/vfs/inode.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/synthetic_file.h"

namespace vfsd::storage {
namespace {

namespace abi = vfs::linux_abi;

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const std::string& path)
      : path_(path), temporary_(path + ".part") {}
  ~SnapshotWriter() {
    if (fd_ < 0) return;
    close(fd_);
    unlink(temporary_.c_str());
  }
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  std::expected<ImportReport, std::string> Run(vfs::FileSystem& file_system) {
    const absl::Time begin = absl::Now();
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
               0644);
    if (fd_ < 0) return Error();
    buffer_.reserve(kMaxBlockBytes);
    // Its place; what belongs there is known at the end.
    if (!Write(&header_, sizeof(header_))) return Error();
    if (!WriteTree(file_system.root()) || !FlushBlock()) return Error();
    const SnapshotBlock end{.checksum = checksums_};
    if (!Write(&end, sizeof(end))) return Error();
    header_.inodes = report_.inodes();
    header_.names = report_.names();
    header_.checksum = SnapshotChecksum(reinterpret_cast<const char*>(&header_),
                                        offsetof(SnapshotHeader, checksum));
    if (pwrite(fd_, &header_, sizeof(header_), 0) !=
            static_cast<ssize_t>(sizeof(header_)) ||
        fsync(fd_) != 0 || rename(temporary_.c_str(), path_.c_str()) != 0) {
      return Error();
    }
    close(std::exchange(fd_, -1));
    report_.seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    return std::move(report_);
  }

 private:
  struct Entry {
    std::string name;
    vfs::PinnedInode inode;
  };
  // A directory whose entries are being written, from the last to the first.
  using Listing = std::vector<Entry>;

  std::unexpected<std::string> Error() const {
    return std::unexpected(
        fmt::format("cannot write {}: {}", temporary_, std::strerror(errno)));
  }

  bool Write(const void* data, size_t bytes) {
    const char* from = static_cast<const char*>(data);
    while (bytes != 0) {
      const ssize_t written = write(fd_, from, bytes);
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      from += written;
      bytes -= static_cast<size_t>(written);
    }
    return true;
  }

  bool FlushBlock() {
    if (buffer_.empty()) return true;
    const SnapshotBlock block{
        .bytes = static_cast<uint32_t>(buffer_.size()),
        .checksum = SnapshotChecksum(buffer_.data(), buffer_.size())};
    checksums_ ^= block.checksum;
    const bool written =
        Write(&block, sizeof(block)) && Write(buffer_.data(), buffer_.size());
    buffer_.clear();
    return written;
  }

  bool Append(const SnapshotRecord& record, std::string_view name,
              std::string_view target) {
    if (buffer_.size() + sizeof(record) + name.size() + target.size() >
            kMaxBlockBytes &&
        !FlushBlock()) {
      return false;
    }
    buffer_.append(reinterpret_cast<const char*>(&record), sizeof(record));
    buffer_.append(name);
    buffer_.append(target);
    return true;
  }

  bool WriteTree(vfs::Inode& root) {
    if (!WriteInode("", root)) return false;
    std::vector<Listing> open;
    open.push_back(List(root));
    while (!open.empty()) {
      if (open.back().empty()) {
        open.pop_back();
        if (!Append({}, "", "")) return false;
        continue;
      }
      const Entry entry = std::move(open.back().back());
      open.back().pop_back();
      if (!WriteInode(entry.name, *entry.inode)) return false;
      if (entry.inode->IsDirectory()) open.push_back(List(*entry.inode));
    }
    return true;
  }

  static Listing List(vfs::Inode& directory) {
    Listing listing;
    vfs::Directory& names = directory.directory();
    absl::ReaderMutexLock lock(&names.mu);
    listing.reserve(names.children.size());
    // The last first, so that the first is at the end and written first.
    for (auto it = names.children.rbegin(); it != names.children.rend(); ++it) {
      const vfs::Dentry& dentry = **it;
      listing.push_back({std::string(dentry.name()),
                         vfs::PinnedInode::Share(dentry.inode())});
    }
    return listing;
  }

  bool WriteInode(std::string_view name, const vfs::Inode& inode) {
    const vfs::InodeAttributes attributes = inode.ReadAttributes();
    SnapshotRecord record;
    record.kind = SnapshotRecordKind::kInode;
    record.name_bytes = static_cast<uint8_t>(name.size());
    report_.name_bytes += name.size();
    if (!inode.IsDirectory() && attributes.nlink > 1) {
      const auto [it, first] = linked_.try_emplace(&inode, linked_.size());
      if (!first) {
        record.kind = SnapshotRecordKind::kLink;
        record.value = it->second;
        ++report_.hard_links;
        return Append(record, name, "");
      }
      record.flags |= kSnapshotLinked;
    }
    if (attributes.allocated) record.flags |= kSnapshotAllocated;
    record.mode = attributes.mode;
    record.uid = attributes.uid;
    record.gid = attributes.gid;
    record.atime = attributes.atime.packed();
    record.mtime = attributes.mtime.packed();
    record.ctime = attributes.ctime.packed();
    record.btime = inode.btime().packed();
    std::string_view target;
    if (abi::IsRegular(record.mode)) record.value = attributes.size;
    if (abi::IsDevice(record.mode)) record.value = inode.device();
    if (abi::IsSymlink(record.mode)) target = inode.symlink_target();
    record.target_bytes = static_cast<uint32_t>(target.size());
    report_.CountInode(record.mode, attributes.size);
    return Append(record, name, target);
  }

  const std::string path_;
  const std::string temporary_;
  int fd_ = -1;
  SnapshotHeader header_;
  std::string buffer_;
  uint64_t checksums_ = 0;
  // Inodes with several names, by the order of their records.
  absl::flat_hash_map<const vfs::Inode*, uint64_t> linked_;
  ImportReport report_;
};

}  // namespace

std::expected<ImportReport, std::string> WriteSnapshot(
    vfs::FileSystem& file_system, const std::string& path) {
  return SnapshotWriter(path).Run(file_system);
}

}  // namespace vfsd::storage
