#include "tests/differential/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "server/vfs/linux_abi.h"
#include "tests/differential/program_text.h"
#include "tests/differential/step_operation.h"

namespace vfsd::differential {

namespace abi = vfs::linux_abi;

std::string Comparison::Compare(const Step& step, const Outcome& kernel,
                                const Outcome& other) {
  if (ChangesMounts(step.kind)) Forget();
  if (step.expected.has_value() && kernel.error != *step.expected) {
    return fmt::format("the kernel says {}, {} was expected",
                       ErrnoText(kernel.error), ErrnoText(*step.expected));
  }
  // Deliberate difference attributes-together: which of several errors it is.
  const bool any_error = step.kind == Kind::kSetAttributes &&
                         std::popcount(step.changes) > 1 && kernel.error != 0 &&
                         other.error != 0;
  if (kernel.error != other.error && !any_error) {
    return fmt::format("the kernel says {}, we say {}", ErrnoText(kernel.error),
                       ErrnoText(other.error));
  }
  if (kernel.text != other.text) {
    return fmt::format("the kernel says '{}', we say '{}'", kernel.text,
                       other.text);
  }
  if (kernel.count != other.count) {
    return fmt::format("the kernel says {} bytes, we say {}", kernel.count,
                       other.count);
  }
  if (kernel.statfs != other.statfs && oracle_ == Oracle::kTmpfs) {
    return fmt::format("the kernel says {}, we say {}",
                       fmt::join(kernel.statfs, " "),
                       fmt::join(other.statfs, " "));
  }
  if (kernel.statx.has_value() != other.statx.has_value())
    return "only one side answers with attributes";
  if (kernel.statx.has_value())
    return CompareStatx(*kernel.statx, *other.statx);
  return CompareEntries(kernel, other);
}

void Comparison::Forget() {
  devices_ = {};
  inodes_ = {};
  entry_inodes_ = {};
  mounts_ = {};
  unique_mounts_ = {};
}

std::string Comparison::CompareEntries(const Outcome& kernel,
                                       const Outcome& other) {
  const auto names = [](const Outcome& outcome) {
    std::string text;
    for (const ListedEntry& entry : outcome.entries)
      text += fmt::format("{}({}) ", entry.name, entry.type);
    return text;
  };
  if (names(kernel) != names(other)) {
    return fmt::format("the kernel lists {}, we list {}", names(kernel),
                       names(other));
  }
  for (size_t i = 0; i < kernel.entries.size(); ++i) {
    if (!entry_inodes_.Match(kernel.entries[i].ino, other.entries[i].ino)) {
      return fmt::format("the inode number of {} is another file's",
                         kernel.entries[i].name);
    }
    const std::optional<vfs::Statx>& attributes = kernel.entries[i].attributes;
    if (attributes.has_value() != other.entries[i].attributes.has_value())
      return "only one side lists attributes";
    if (!attributes.has_value()) continue;
    const std::string difference =
        CompareStatx(*attributes, *other.entries[i].attributes);
    if (!difference.empty())
      return fmt::format("{}: {}", kernel.entries[i].name, difference);
  }
  return "";
}

std::string Comparison::CompareStatx(const vfs::Statx& kernel,
                                     const vfs::Statx& other) {
  std::string text;
  const auto number = [&text](std::string_view name, auto k, auto o) {
    if (k == o) return;
    text +=
        fmt::format("{}: kernel {:#x} ({}), we {:#x} ({}); ", name, k, k, o, o);
  };
  // ramfs is there for its O_DIRECT; what it tells of sizes of directories and
  // of attributes is its own.
  const bool tmpfs = oracle_ == Oracle::kTmpfs;
  if (tmpfs) {
    number("mask", kernel.mask, other.mask);
    number("blksize", kernel.blksize, other.blksize);
    number("attributes", kernel.attributes, other.attributes);
    number("attributes_mask", kernel.attributes_mask, other.attributes_mask);
    number("blocks", kernel.blocks, other.blocks);
  }
  number("nlink", kernel.nlink, other.nlink);
  number("uid", kernel.uid, other.uid);
  number("gid", kernel.gid, other.gid);
  if (kernel.mode != other.mode)
    text +=
        fmt::format("mode: kernel {:#o}, we {:#o}; ", kernel.mode, other.mode);
  if (tmpfs || !abi::IsDirectory(kernel.mode))
    number("size", kernel.size, other.size);
  number("rdev_major", kernel.rdev_major, other.rdev_major);
  number("rdev_minor", kernel.rdev_minor, other.rdev_minor);
  number("dio_mem_align", kernel.dio_mem_align, other.dio_mem_align);
  number("dio_offset_align", kernel.dio_offset_align, other.dio_offset_align);
  if (!devices_.Match({kernel.dev_major, kernel.dev_minor},
                      {other.dev_major, other.dev_minor})) {
    text += "dev: another file system's; ";
  }
  if (!inodes_.Match({kernel.dev_major, kernel.dev_minor, kernel.ino},
                     {other.dev_major, other.dev_minor, other.ino})) {
    text += "ino: another file's; ";
  }
  Bijection<uint64_t>& mounts =
      (kernel.mask & abi::kStatxMntIdUnique) != 0 ? unique_mounts_ : mounts_;
  if (!mounts.Match(kernel.mnt_id, other.mnt_id))
    text += "mnt_id: another mount's; ";
  if (ticks_ != nullptr) {
    const auto time = [&](std::string_view name, Timestamp k, Timestamp o,
                          uint32_t bit) {
      // What is not told may hold anything.
      if ((kernel.mask & bit) == 0) return;
      const std::string kernel_stamp = ticks_->StampOf(k);
      const std::string our_stamp = ticks_->StampOf(o);
      if (kernel_stamp == our_stamp) return;
      text +=
          fmt::format("{}: kernel {}, we {}; ", name, kernel_stamp, our_stamp);
    };
    time("atime", kernel.atime, other.atime, abi::kStatxAtime);
    time("mtime", kernel.mtime, other.mtime, abi::kStatxMtime);
    time("ctime", kernel.ctime, other.ctime, abi::kStatxCtime);
    time("btime", kernel.btime, other.btime, abi::kStatxBtime);
  }
  return text;
}

std::string Comparison::Compare(const Listing& kernel, const Listing& other) {
  std::string text;
  for (const auto& [path, statx] : kernel) {
    const auto found = other.find(path);
    if (found == other.end()) {
      text += fmt::format("only the kernel has {}\n", path);
      continue;
    }
    const std::string difference = CompareStatx(statx, found->second);
    if (!difference.empty()) text += fmt::format("{}: {}\n", path, difference);
  }
  for (const auto& [path, statx] : other) {
    if (!kernel.contains(path)) text += fmt::format("only we have {}\n", path);
  }
  return text;
}

}  // namespace vfsd::differential
