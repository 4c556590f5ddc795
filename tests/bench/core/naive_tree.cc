#include "tests/bench/core/naive_tree.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "server/vfs/linux_abi.h"

namespace corebench {
namespace {

namespace vfs = vfsd::vfs;
namespace abi = vfsd::vfs::linux_abi;
using vfsd::Errno;

constexpr size_t kMaxFiles = 65536;
constexpr uint32_t kMayExec = 1;
constexpr uint32_t kMayRead = 4;

}  // namespace

NaiveTree::NaiveTree(std::string_view version, uint32_t uid, uint32_t gid)
    : uid_(uid), gid_(gid) {
  root_ = std::make_shared<Node>();
  root_->attributes.mode = abi::kSIfdir | 0755;
  Make("proc", abi::kSIfdir | 0555);
  Make("proc/version", abi::kSIfreg | 0444)->content = version;
}

std::shared_ptr<NaiveTree::Node> NaiveTree::Make(std::string_view path,
                                                 uint32_t mode) {
  const size_t slash = path.rfind('/');
  const auto parent =
      slash == std::string_view::npos ? root_ : *Walk(path.substr(0, slash));
  auto node = std::make_shared<Node>();
  node->attributes.mode = mode;
  node->attributes.uid = uid_;
  node->attributes.gid = gid_;
  node->attributes.nlink = 1;
  node->attributes.ino = next_ino_++;
  node->attributes.mask = abi::kStatxBasicStats;
  parent->children.emplace(
      path.substr(slash == std::string_view::npos ? 0 : slash + 1), node);
  return node;
}

void NaiveTree::MakeHotFiles() {
  for (size_t end = 0; end != std::string_view::npos;) {
    end = kDeepDirectory.find('/', end + 1);
    Make(kDeepDirectory.substr(0, end), abi::kSIfdir | 0755);
  }
  Make(kDeepFile, abi::kSIfreg | 0644);
  Make(kHotFile, abi::kSIfreg | 0644);
}

bool NaiveTree::Permitted(const Node& node, uint32_t wanted) const {
  const uint32_t mode = node.attributes.mode;
  const uint32_t granted = node.attributes.uid == uid_   ? mode >> 6
                           : node.attributes.gid == gid_ ? mode >> 3
                                                         : mode;
  return (wanted & ~granted & 7) == 0 || uid_ == 0;
}

NaiveTree::Result<std::shared_ptr<NaiveTree::Node>> NaiveTree::Walk(
    std::string_view path) const {
  const std::shared_ptr<Node>* at = &root_;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size()
                                                       : slash + 1);
    if (name.empty() || name == ".") continue;
    const Node& node = **at;
    if (!abi::IsDirectory(node.attributes.mode))
      return std::unexpected(Errno::kENOTDIR);
    if (!Permitted(node, kMayExec)) return std::unexpected(Errno::kEACCES);
    if (name.size() > abi::kNameMax)
      return std::unexpected(Errno::kENAMETOOLONG);
    const auto it = node.children.find(name);
    if (it == node.children.end()) return std::unexpected(Errno::kENOENT);
    at = &it->second;
  }
  return *at;
}

NaiveTree::Result<uint64_t> NaiveTree::Open(std::string_view path,
                                            uint32_t flags) {
  const std::lock_guard lock(mu_);
  if (files_.size() >= kMaxFiles) return std::unexpected(Errno::kEMFILE);
  Result<std::shared_ptr<Node>> node = Walk(path);
  if (!node.has_value()) return std::unexpected(node.error());
  if (!Permitted(**node, kMayRead)) return std::unexpected(Errno::kEACCES);
  const uint64_t handle = next_handle_++;
  files_.emplace(handle, OpenFile{*std::move(node), flags});
  return handle;
}

NaiveTree::Result<void> NaiveTree::Close(uint64_t handle) {
  const std::lock_guard lock(mu_);
  if (files_.erase(handle) == 0) return std::unexpected(Errno::kEBADF);
  return {};
}

NaiveTree::Result<vfs::Statx> NaiveTree::StatHandle(uint64_t handle) {
  const std::lock_guard lock(mu_);
  const auto it = files_.find(handle);
  if (it == files_.end()) return std::unexpected(Errno::kEBADF);
  return it->second.node->attributes;
}

NaiveTree::Result<vfs::Statx> NaiveTree::StatPath(std::string_view path) {
  const std::lock_guard lock(mu_);
  const Result<std::shared_ptr<Node>> node = Walk(path);
  if (!node.has_value()) return std::unexpected(node.error());
  return (*node)->attributes;
}

NaiveTree::Result<size_t> NaiveTree::Read(uint64_t handle, uint64_t offset,
                                          std::span<char> buffer) {
  const std::lock_guard lock(mu_);
  const auto it = files_.find(handle);
  if (it == files_.end()) return std::unexpected(Errno::kEBADF);
  const std::string& content = it->second.node->content;
  if (offset >= content.size()) return 0;
  const size_t size = std::min(content.size() - offset, buffer.size());
  std::memcpy(buffer.data(), content.data() + offset, size);
  return size;
}

Loop NaiveTree::MakeLoop(Scenario scenario) {
  switch (scenario) {
    case Scenario::kOpenRo3:
      return Repeat([this] {
        const auto handle = Open(kHotFile, kReadOnly);
        return handle.has_value() && Close(*handle).has_value();
      });
    case Scenario::kOpenNeg:
      return Repeat([this] {
        const auto handle = Open(kMissingFile, kReadOnly);
        return !handle.has_value() && handle.error() == Errno::kENOENT;
      });
    case Scenario::kFstat:
    case Scenario::kStatxNull: {
      const uint64_t handle = *Open(kHotFile, kReadOnly);
      const uint64_t ino = StatPath(kHotFile)->ino;
      return Repeat([this, handle, ino] {
        const auto statx = StatHandle(handle);
        return statx.has_value() && statx->ino == ino;
      });
    }
    case Scenario::kStatxPath: {
      const uint64_t ino = StatPath(kDeepFile)->ino;
      return Repeat([this, ino] {
        const auto statx = StatPath(kDeepFile);
        return statx.has_value() && statx->ino == ino;
      });
    }
    case Scenario::kProcRead:
      break;
  }
  const std::string version = (*Walk("proc/version"))->content;
  return Repeat(
      [this, version, buffer = std::vector<char>(kReadBytes)]() mutable {
        const auto handle = Open("/proc/version", kReadOnly);
        if (!handle.has_value()) return false;
        const auto size = Read(*handle, 0, buffer);
        const bool right =
            size.has_value() && *size == version.size() &&
            std::memcmp(buffer.data(), version.data(), version.size()) == 0;
        return Close(*handle).has_value() && right;
      });
}

}  // namespace corebench
