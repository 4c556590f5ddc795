// TreeShape: the tree that all contenders are given: directories of a thousand
// files, a hundred such directories in a directory of "/tree", and every name
// 20 bytes long. File i of a tree is the same path in each tree that has it.
#pragma once

#include <cstdint>
#include <string>

#include "fmt/format.h"

namespace corebench {

class TreeShape {
 public:
  static constexpr uint64_t kFilesPerDirectory = 1000;
  static constexpr uint64_t kDirectoriesPerGroup = 100;
  static constexpr uint64_t kFilesPerGroup =
      kFilesPerDirectory * kDirectoriesPerGroup;

  // Without a slash in front: relative to "/tree".
  static std::string GroupName(uint64_t file) {
    return fmt::format("group{:015}", file / kFilesPerGroup);
  }
  static std::string DirectoryName(uint64_t file) {
    return fmt::format("directory{:011}", file / kFilesPerDirectory);
  }
  static std::string FileName(uint64_t file) {
    return fmt::format("file{:012}.txt", file);
  }
  static std::string FilePath(uint64_t file) {
    return fmt::format("tree/{}/{}/{}", GroupName(file), DirectoryName(file),
                       FileName(file));
  }
};

}  // namespace corebench
