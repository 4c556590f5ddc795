#include "server/storage/import_spec.h"

#include "fmt/format.h"
#include "server/vfs/linux_abi.h"

namespace vfsd::storage {
namespace {

std::expected<std::string, std::string> NormalizeMountpoint(
    std::string_view path) {
  std::string normalized;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(slash == std::string_view::npos ? path.size()
                                                       : slash + 1);
    if (name.empty()) continue;
    if (name == "." || name == "..") {
      return std::unexpected(
          fmt::format("the mount point must not contain \"{}\"", name));
    }
    if (name.size() > vfs::linux_abi::kNameMax) {
      return std::unexpected(
          fmt::format("a name in the mount point is longer than {} bytes",
                      vfs::linux_abi::kNameMax));
    }
    normalized += '/';
    normalized += name;
  }
  if (normalized.empty()) normalized = "/";
  if (normalized.size() >= vfs::linux_abi::kPathMax) {
    return std::unexpected(
        fmt::format("the mount point is longer than {} bytes",
                    vfs::linux_abi::kPathMax - 1));
  }
  return normalized;
}

}  // namespace

std::expected<ImportSpec, std::string> ParseImportSpec(std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    return std::unexpected("it contains a NUL byte");
  }
  const size_t separator = text.rfind(":/");
  ImportSpec spec;
  spec.directory = text.substr(0, separator);
  spec.mountpoint = "/";
  if (spec.directory.empty()) {
    return std::unexpected(
        "it names no directory: expected DIR or DIR:/mountpoint");
  }
  if (separator != std::string_view::npos) {
    auto mountpoint = NormalizeMountpoint(text.substr(separator + 1));
    if (!mountpoint.has_value()) return std::unexpected(mountpoint.error());
    spec.mountpoint = *std::move(mountpoint);
  }
  return spec;
}

}  // namespace vfsd::storage
