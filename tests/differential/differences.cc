#include "tests/differential/differences.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace vfsd::differential {
namespace {

// The first cells of the list's rows.
std::set<std::string_view> IdsOf(std::string_view text) {
  std::set<std::string_view> ids;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with("| ")) continue;
    line.remove_prefix(2);
    const std::string_view id = line.substr(0, line.find(' '));
    if (id != "id") ids.insert(id);
  }
  return ids;
}

}  // namespace

std::string Differences::CheckList(std::string_view text) {
  std::set<std::string_view> listed = IdsOf(text);
  std::string wrong;
  for (const DifferenceRow& row : kDifferenceRows) {
    if (listed.erase(row.id) == 0)
      wrong += fmt::format("{} is applied, but not on the list\n", row.id);
  }
  for (const std::string_view id : listed)
    wrong += fmt::format("{} is on the list, but not known here\n", id);
  return wrong;
}

}  // namespace vfsd::differential
