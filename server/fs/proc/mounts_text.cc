#include "server/fs/proc/mounts_text.h"

#include <iterator>
#include <string_view>

#include "fmt/format.h"
#include "server/sync/rcu.h"

namespace vfsd::proc {
namespace {

// mangle_path() with the characters that separate fields in mounts.
std::string Escape(std::string_view name) {
  std::string escaped;
  for (const char c : name) {
    if (std::string_view(" \t\n\\#").find(c) != std::string_view::npos) {
      fmt::format_to(std::back_inserter(escaped), "\\{:03o}",
                     static_cast<unsigned char>(c));
    } else {
      escaped.push_back(c);
    }
  }
  return escaped;
}

}  // namespace

std::string MountsText(const vfs::MountTable& mounts) {
  std::string text;
  const sync::RcuReadSection section;
  for (const vfs::Mount* mount : mounts.List()) {
    const std::string_view type = mount->file_system().traits().type_name;
    fmt::format_to(std::back_inserter(text), "{} {} {} {},relatime{} 0 0\n",
                   type, Escape(mount->path()), type,
                   mount->read_only() ? "ro" : "rw",
                   mount->direct_io() ? "" : ",nodirectio");
  }
  return text;
}

}  // namespace vfsd::proc
