// NaiveTree: the rival: what one writes in an afternoon, with ordinary maps and
// one mutex. It gives the same answers to the scenarios' operations as the core
// does: permission is checked in every directory, handles are never reused,
// limits hold.
//
// Thread safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "server/base/errno.h"
#include "server/vfs/operation.h"
#include "tests/bench/core/loop.h"
#include "tests/bench/core/scenario.h"

namespace corebench {

class NaiveTree {
 public:
  NaiveTree(std::string_view version, uint32_t uid, uint32_t gid);

  void MakeHotFiles();
  Loop MakeLoop(Scenario scenario);

 private:
  template <typename T>
  using Result = std::expected<T, vfsd::Errno>;

  struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  struct Node {
    vfsd::vfs::Statx attributes;
    std::string content;
    std::unordered_map<std::string, std::shared_ptr<Node>, StringHash,
                       std::equal_to<>>
        children;
  };
  struct OpenFile {
    std::shared_ptr<Node> node;
    uint32_t flags;
  };

  Result<uint64_t> Open(std::string_view path, uint32_t flags);
  Result<void> Close(uint64_t handle);
  Result<vfsd::vfs::Statx> StatHandle(uint64_t handle);
  Result<vfsd::vfs::Statx> StatPath(std::string_view path);
  Result<size_t> Read(uint64_t handle, uint64_t offset, std::span<char> buffer);

  // With mu_ held.
  bool Permitted(const Node& node, uint32_t wanted) const;
  Result<std::shared_ptr<Node>> Walk(std::string_view path) const;
  std::shared_ptr<Node> Make(std::string_view path, uint32_t mode);

  const uint32_t uid_;
  const uint32_t gid_;
  std::mutex mu_;
  std::shared_ptr<Node> root_;
  std::unordered_map<uint64_t, OpenFile> files_;
  uint64_t next_handle_ = 1;
  uint64_t next_ino_ = 1;
};

}  // namespace corebench
