#include "server/storage/tree_importer.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "fmt/format.h"
#include "server/base/timestamp.h"
#include "server/storage/host_directory.h"
#include "server/vfs/inode.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/new_inode.h"
#include "server/vfs/synthetic_file.h"
#include "spdlog/spdlog.h"

namespace vfsd::storage {
namespace {

using HostStat = struct statx;

// A sign of life in the log of a long import.
constexpr absl::Duration kProgressInterval = absl::Seconds(5);
constexpr uint64_t kProgressCheck = 16384;

Errno ToErrno(HostError error) {
  const auto known = static_cast<Errno>(error);
  return ErrnoName(known) == "EUNKNOWN" ? Errno::kEIO : known;
}

Timestamp ToTimestamp(const statx_timestamp& time) {
  return Timestamp(time.tv_sec, time.tv_nsec);
}

Timestamp BirthTime(const HostStat& stat, Timestamp otherwise) {
  return (stat.stx_mask & STATX_BTIME) != 0 ? ToTimestamp(stat.stx_btime)
                                            : otherwise;
}

uint64_t DeviceOf(const HostStat& stat) {
  return vfs::linux_abi::MakeDevice(stat.stx_dev_major, stat.stx_dev_minor);
}

// What tells mounts apart: their number, or on an old kernel the device.
uint64_t MountOf(const HostStat& stat) {
  return (stat.stx_mask & STATX_MNT_ID) != 0 ? stat.stx_mnt_id : DeviceOf(stat);
}

// A host's inode.
struct HostInode {
  uint64_t device;
  uint64_t ino;

  friend bool operator==(const HostInode&, const HostInode&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const HostInode& inode) {
    return H::combine(std::move(h), inode.device, inode.ino);
  }
};

HostInode IdentityOf(const HostStat& stat) {
  return {DeviceOf(stat), stat.stx_ino};
}

// A path as it goes into a log: control characters cannot forge a line.
std::string Printable(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      fmt::format_to(std::back_inserter(text), "\\x{:02x}",
                     static_cast<unsigned char>(c));
    } else {
      text.push_back(c);
    }
  }
  return text;
}

class TreeImport {
 public:
  TreeImport(std::string root, const ImportOptions& options)
      : root_path_(std::move(root)), options_(options) {}

  Result<ImportedTree> Run();

 private:
  // A directory that is walked, or waits for it. Children hold their parents:
  // to open one takes the descriptors above.
  struct Node {
    std::shared_ptr<Node> parent;  // null: the root
    std::string name;
    vfs::Inode* inode;  // the tree's
    HostInode identity;
    uint64_t mount;
    // Times of the directory, which linking its children changes.
    Timestamp mtime;
    Timestamp ctime;
    HostDirectory directory;  // closed and opened again as needed
  };
  using NodeRef = std::shared_ptr<Node>;

  // An inode with names that were not met yet.
  struct LinkedInode {
    vfs::Inode* inode;
    Timestamp ctime;
    uint32_t names_left;
  };

  void Walk(const NodeRef& node);
  void ImportName(const NodeRef& node, const char* name);
  // False: the name could not be made.
  bool Link(const Node& node, const char* name, vfs::PinnedInode inode);
  // A further name of an inode that is there already; false: it is not.
  bool LinkKnown(const Node& node, const char* name, const HostStat& stat);
  void Descend(const NodeRef& node, const char* name, const HostStat& stat,
               vfs::Inode& inode);
  vfs::PinnedInode MakeInode(const HostStat& stat, std::string_view target);

  // Opens the node's directory, and those above it as far as they are closed.
  // EXDEV: something is mounted there that is not to be walked.
  HostResult<void> Open(const NodeRef& node);
  HostResult<void> OpenBelowParent(const NodeRef& node);

  void Problem(const Node* node, std::string_view name, std::string_view what,
               HostError error);
  std::string PathOf(const Node* node, std::string_view name) const;
  void ShowProgress();

  const std::string root_path_;
  const ImportOptions options_;
  const Timestamp started_ = Timestamp::Now();
  std::shared_ptr<mem::MemFileSystem> file_system_;
  ImportReport report_;
  // To be walked; the last first, so that few directories are under way.
  std::vector<NodeRef> pending_;
  // Whose descriptors are open, the oldest first. The root's stays open and is
  // not listed.
  std::deque<std::weak_ptr<Node>> open_;
  absl::flat_hash_map<HostInode, LinkedInode> linked_;
  std::vector<char> names_buffer_;
  absl::Time last_progress_ = absl::Now();
};

Result<ImportedTree> TreeImport::Run() {
  const absl::Time begin = absl::Now();
  HostResult<HostDirectory> root = HostDirectory::OpenPath(root_path_);
  if (!root.has_value()) return Fail(ToErrno(root.error()));
  const HostResult<HostStat> stat = root->StatSelf();
  if (!stat.has_value()) return Fail(ToErrno(stat.error()));
  if (root->IsPseudoFileSystem()) return Fail(Errno::kEINVAL);

  file_system_ = std::make_shared<mem::MemFileSystem>(mem::RootOptions{
      .mode = stat->stx_mode,
      .uid = stat->stx_uid,
      .gid = stat->stx_gid,
      .atime = ToTimestamp(stat->stx_atime),
      .mtime = ToTimestamp(stat->stx_mtime),
      .ctime = ToTimestamp(stat->stx_ctime),
      .btime = BirthTime(*stat, started_),
  });
  report_.CountInode(stat->stx_mode, stat->stx_size);
  auto node = std::make_shared<Node>();
  node->inode = &file_system_->root();
  node->identity = IdentityOf(*stat);
  node->mount = MountOf(*stat);
  node->mtime = ToTimestamp(stat->stx_mtime);
  node->ctime = ToTimestamp(stat->stx_ctime);
  node->directory = *std::move(root);
  pending_.push_back(std::move(node));
  while (!pending_.empty()) {
    const NodeRef next = std::move(pending_.back());
    pending_.pop_back();
    Walk(next);
  }

  const uint64_t problems = report_.problem_count();
  if (problems > options_.max_logged_problems) {
    spdlog::warn("import {}: and {} more problems", Printable(root_path_),
                 problems - options_.max_logged_problems);
  }
  report_.seconds = absl::ToDoubleSeconds(absl::Now() - begin);
  return ImportedTree{std::move(file_system_), std::move(report_)};
}

void TreeImport::Walk(const NodeRef& node) {
  HostResult<void> result = Open(node);
  if (!result.has_value()) {
    if (result.error() == EXDEV) {
      ++report_.mount_points_skipped;
    } else {
      Problem(node.get(), "", "cannot be opened", result.error());
    }
    return;
  }
  result = node->directory.ForEachName(
      names_buffer_,
      [this, &node](const char* name) { ImportName(node, name); });
  if (!result.has_value()) {
    Problem(node.get(), "", "cannot be read to its end", result.error());
  }
  sync::SeqLockWriter writer(node->inode->attribute_lock);
  node->inode->SetModifyTime(node->mtime);
  node->inode->SetChangeTime(node->ctime);
}

void TreeImport::ImportName(const NodeRef& node, const char* name) {
  ShowProgress();
  const HostResult<HostStat> stat = node->directory.StatChild(name);
  if (!stat.has_value()) {
    Problem(node.get(), name, "cannot be looked at", stat.error());
    return;
  }
  const bool is_directory = vfs::linux_abi::IsDirectory(stat->stx_mode);
  const bool may_be_linked = !is_directory && stat->stx_nlink > 1;
  if (may_be_linked && LinkKnown(*node, name, *stat)) return;

  std::string target;
  if (vfs::linux_abi::IsSymlink(stat->stx_mode)) {
    HostResult<std::string> read = node->directory.ReadLink(name);
    if (!read.has_value()) {
      Problem(node.get(), name, "its target cannot be read", read.error());
      return;
    }
    target = *std::move(read);
  }
  vfs::PinnedInode made = MakeInode(*stat, target);
  // The namespace's reference keeps it: nothing is removed from this tree.
  vfs::Inode& inode = *made;
  if (!Link(*node, name, std::move(made))) return;
  report_.CountInode(stat->stx_mode, stat->stx_size);
  if (may_be_linked) {
    linked_.insert_or_assign(
        IdentityOf(*stat),
        LinkedInode{&inode, ToTimestamp(stat->stx_ctime), stat->stx_nlink - 1});
  }
  if (is_directory) Descend(node, name, *stat, inode);
}

bool TreeImport::Link(const Node& node, const char* name,
                      vfs::PinnedInode inode) {
  const Errno error =
      vfs::CreateChild(*file_system_, *node.inode, name, std::move(inode));
  if (error != Errno::kOk) {
    // A name that the host has and Linux's limits do not allow; or the same
    // name again, in a directory that changes while it is read.
    if (error != Errno::kEEXIST) {
      Problem(&node, name, "is no possible name", static_cast<int>(error));
    }
    return false;
  }
  report_.name_bytes += std::strlen(name);
  return true;
}

bool TreeImport::LinkKnown(const Node& node, const char* name,
                           const HostStat& stat) {
  const auto it = linked_.find(IdentityOf(stat));
  if (it == linked_.end()) return false;
  LinkedInode& known = it->second;
  // A number that was used again for something else meanwhile.
  if ((known.inode->mode() & vfs::linux_abi::kSIfmt) !=
      (stat.stx_mode & vfs::linux_abi::kSIfmt)) {
    return false;
  }
  const Errno error =
      vfs::LinkChild(*file_system_, *node.inode, name, *known.inode);
  if (error != Errno::kOk) return true;
  {
    sync::SeqLockWriter writer(known.inode->attribute_lock);
    known.inode->SetChangeTime(known.ctime);
  }
  ++report_.hard_links;
  report_.name_bytes += std::strlen(name);
  if (--known.names_left == 0) linked_.erase(it);
  return true;
}

void TreeImport::Descend(const NodeRef& node, const char* name,
                         const HostStat& stat, vfs::Inode& inode) {
  if (MountOf(stat) != node->mount && !options_.cross_file_systems) {
    ++report_.mount_points_skipped;
    return;
  }
  auto child = std::make_shared<Node>();
  child->parent = node;
  child->name = name;
  child->inode = &inode;
  child->identity = IdentityOf(stat);
  child->mount = MountOf(stat);
  child->mtime = ToTimestamp(stat.stx_mtime);
  child->ctime = ToTimestamp(stat.stx_ctime);
  pending_.push_back(std::move(child));
}

vfs::PinnedInode TreeImport::MakeInode(const HostStat& stat,
                                       std::string_view target) {
  const bool is_regular = vfs::linux_abi::IsRegular(stat.stx_mode);
  const bool is_directory = vfs::linux_abi::IsDirectory(stat.stx_mode);
  vfs::Inode::Init init;
  if (is_directory) {
    init = vfs::NewDirectory(*file_system_, stat.stx_mode, started_);
  } else {
    init.mode = stat.stx_mode;
    init.ino = file_system_->NextInodeNumber();
  }
  if (is_regular) {
    init.size = stat.stx_size;
    init.allocated = stat.stx_blocks != 0;
  }
  init.uid = stat.stx_uid;
  init.gid = stat.stx_gid;
  init.atime = ToTimestamp(stat.stx_atime);
  init.mtime = ToTimestamp(stat.stx_mtime);
  init.ctime = ToTimestamp(stat.stx_ctime);
  init.btime = BirthTime(stat, started_);
  if (vfs::linux_abi::IsDevice(stat.stx_mode)) {
    init.device =
        vfs::linux_abi::MakeDevice(stat.stx_rdev_major, stat.stx_rdev_minor);
  }
  init.target = target;
  return vfs::MakeInode(std::move(init));
}

HostResult<void> TreeImport::Open(const NodeRef& node) {
  // From the nearest open directory above downwards; the root is open.
  std::vector<NodeRef> closed;
  for (NodeRef at = node; !at->directory.is_open(); at = at->parent) {
    closed.push_back(at);
  }
  for (auto it = closed.rbegin(); it != closed.rend(); ++it) {
    const HostResult<void> result = OpenBelowParent(*it);
    if (!result.has_value()) return result;
  }
  return {};
}

HostResult<void> TreeImport::OpenBelowParent(const NodeRef& node) {
  HostResult<HostDirectory> opened =
      node->parent->directory.OpenChild(node->name);
  if (!opened.has_value()) return std::unexpected(opened.error());
  const HostResult<HostStat> stat = opened->StatSelf();
  if (!stat.has_value()) return std::unexpected(stat.error());
  // Mounted since it was looked at, maybe by the very open (an automount).
  if (MountOf(*stat) != node->mount) return std::unexpected(EXDEV);
  if (node->mount != node->parent->mount && opened->IsPseudoFileSystem()) {
    return std::unexpected(EXDEV);
  }
  // Moved away, and something else is there now.
  if (IdentityOf(*stat) != node->identity) return std::unexpected(ESTALE);
  node->directory = *std::move(opened);
  while (!open_.empty() && open_.back().expired()) open_.pop_back();
  open_.push_back(node);
  while (open_.size() > options_.max_open_directories) {
    const NodeRef oldest = open_.front().lock();
    // Its children open it again if they need it. (Not the newest, whose child
    // is opened next.)
    if (oldest == node) break;
    if (oldest != nullptr) oldest->directory.Close();
    open_.pop_front();
  }
  return {};
}

std::string TreeImport::PathOf(const Node* node, std::string_view name) const {
  std::vector<std::string_view> names = {name};
  for (; node->parent != nullptr; node = node->parent.get()) {
    names.push_back(node->name);
  }
  std::string path = root_path_;
  for (auto it = names.rbegin(); it != names.rend(); ++it) {
    if (it->empty()) continue;
    if (path.back() != '/') path += '/';
    path += *it;
  }
  return path;
}

void TreeImport::Problem(const Node* node, std::string_view name,
                         std::string_view what, HostError error) {
  ++report_.problems[error];
  if (report_.first_problems.size() >= options_.max_logged_problems) return;
  const char* const why = strerrordesc_np(error);
  report_.first_problems.push_back(
      fmt::format("{}: {}: {}", Printable(PathOf(node, name)), what,
                  why != nullptr ? why : "unknown error"));
  spdlog::warn("import: {}", report_.first_problems.back());
}

void TreeImport::ShowProgress() {
  const uint64_t names = report_.names();
  if (names == 0 || names % kProgressCheck != 0) return;
  const absl::Time now = absl::Now();
  if (now - last_progress_ < kProgressInterval) return;
  last_progress_ = now;
  spdlog::info("import {}: {} names so far", Printable(root_path_), names);
}

}  // namespace

Result<ImportedTree> ImportTree(const std::string& root,
                                const ImportOptions& options) {
  return TreeImport(root, options).Run();
}

}  // namespace vfsd::storage
