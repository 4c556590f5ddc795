#include "client/ctl/stat_format.h"

#include <fmt/format.h>

#include <array>
#include <ctime>

#include "client/ctl/command.h"

namespace vfsctl {
namespace {

// S_IF* (inode(7)); the numbers are Linux's on every platform.
struct FileType {
  uint32_t format;  // mode & kFormatMask
  uint32_t d_type;  // DT_*: the format's upper bits
  char letter;
  std::string_view text;
};
constexpr uint32_t kFormatMask = 0170000;
constexpr std::array<FileType, 7> kTypes = {{
    {0100000, 8, '-', "regular file"},
    {0040000, 4, 'd', "directory"},
    {0120000, 10, 'l', "symbolic link"},
    {0020000, 2, 'c', "character special file"},
    {0060000, 6, 'b', "block special file"},
    {0010000, 1, 'p', "fifo"},
    {0140000, 12, 's', "socket"},
}};

const FileType* FindFormat(uint32_t mode) {
  for (const FileType& type : kTypes) {
    if (type.format == (mode & kFormatMask)) return &type;
  }
  return nullptr;
}

}  // namespace

std::string ModeText(uint32_t mode) {
  const FileType* type = FindFormat(mode);
  std::string text(1, type != nullptr ? type->letter : '?');
  constexpr std::string_view kLetters = "rwxrwxrwx";
  for (size_t i = 0; i < kLetters.size(); ++i) {
    text += (mode & (0400u >> i)) != 0 ? kLetters[i] : '-';
  }
  // set-user-id, set-group-id and sticky show in the place of an x.
  const auto mark = [&](uint32_t bit, size_t place, char with_x, char alone) {
    if ((mode & bit) != 0) text[place] = text[place] == 'x' ? with_x : alone;
  };
  mark(04000, 3, 's', 'S');
  mark(02000, 6, 's', 'S');
  mark(01000, 9, 't', 'T');
  return text;
}

std::string_view TypeText(uint32_t mode) {
  const FileType* type = FindFormat(mode);
  return type != nullptr ? type->text : "weird file";
}

char TypeLetter(uint32_t d_type) {
  for (const FileType& type : kTypes) {
    if (type.d_type == d_type) return type.letter;
  }
  return '?';
}

std::string TimeText(int64_t seconds, uint32_t nanoseconds) {
  const auto time = static_cast<time_t>(seconds);
  tm parts{};
  if (gmtime_r(&time, &parts) == nullptr) {
    return fmt::format("{}.{:09} s since 1970", seconds, nanoseconds);
  }
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:09} +0000",
                     parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec, nanoseconds);
}

std::string StatText(std::string_view path, const vfs::v1::StatResponse& stat) {
  std::string text = fmt::format(
      "  File: {}\n"
      "  Size: {:<15} Blocks: {:<10} IO Block: {:<6} {}\n"
      "Device: {},{:<12} Inode: {:<11} Links: {}",
      Printable(path), stat.size(), stat.blocks(), stat.blksize(),
      stat.size() == 0 && (stat.mode() & kFormatMask) == 0100000
          ? "regular empty file"
          : TypeText(stat.mode()),
      stat.dev_major(), stat.dev_minor(), stat.ino(), stat.nlink());
  const uint32_t format = stat.mode() & kFormatMask;
  if (format == 0020000 || format == 0060000) {
    text += fmt::format("     Device type: {},{}", stat.rdev_major(),
                        stat.rdev_minor());
  }
  text += fmt::format(
      "\nAccess: ({:04o}/{})  Uid: {:<8} Gid: {}\n"
      "Access: {}\nModify: {}\nChange: {}\n Birth: {}\n",
      stat.mode() & 07777, ModeText(stat.mode()), stat.uid(), stat.gid(),
      TimeText(stat.atime_seconds(), stat.atime_nanoseconds()),
      TimeText(stat.mtime_seconds(), stat.mtime_nanoseconds()),
      TimeText(stat.ctime_seconds(), stat.ctime_nanoseconds()),
      (stat.mask() & vfs::v1::STATX_MASK_BTIME) != 0
          ? TimeText(stat.btime_seconds(), stat.btime_nanoseconds())
          : "-");
  return text;
}

nlohmann::ordered_json StatJson(std::string_view path,
                                const vfs::v1::StatResponse& stat) {
  nlohmann::ordered_json json = {
      {"path", Printable(path)},
      {"type", TypeText(stat.mode())},
      {"mode", fmt::format("{:04o}", stat.mode() & 07777)},
      {"mode_text", ModeText(stat.mode())},
      {"ino", stat.ino()},
      {"nlink", stat.nlink()},
      {"uid", stat.uid()},
      {"gid", stat.gid()},
      {"size", stat.size()},
      {"blocks", stat.blocks()},
      {"blksize", stat.blksize()},
      {"dev", {stat.dev_major(), stat.dev_minor()}},
      {"rdev", {stat.rdev_major(), stat.rdev_minor()}},
      {"mnt_id", stat.mnt_id()},
      {"attributes", stat.attributes()},
      {"mask", stat.mask()},
      {"atime", TimeText(stat.atime_seconds(), stat.atime_nanoseconds())},
      {"mtime", TimeText(stat.mtime_seconds(), stat.mtime_nanoseconds())},
      {"ctime", TimeText(stat.ctime_seconds(), stat.ctime_nanoseconds())},
  };
  if ((stat.mask() & vfs::v1::STATX_MASK_BTIME) != 0) {
    json["btime"] = TimeText(stat.btime_seconds(), stat.btime_nanoseconds());
  }
  return json;
}

}  // namespace vfsctl
