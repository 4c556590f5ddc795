#include "tests/differential/coverage.h"

#include <fmt/format.h>

#include "tests/differential/program_text.h"

namespace vfsd::differential {

void Coverage::Count(const Step& step, int32_t error) {
  ++total_;
  ++counts_[{step.kind, ""}][error];
  if (!Uses(step.kind, kFlags)) return;
  for (const FlagName& flag : FlagNames(step.kind)) {
    if ((step.flags & flag.value) == flag.value)
      ++counts_[{step.kind, std::string(flag.name)}][error];
  }
}

int64_t Coverage::count(Kind kind, int32_t error) const {
  const auto row = counts_.find({kind, ""});
  if (row == counts_.end()) return 0;
  const auto cell = row->second.find(error);
  return cell == row->second.end() ? 0 : cell->second;
}

std::string Coverage::ToText() const {
  std::string text;
  for (const auto& [key, errors] : counts_) {
    const auto& [kind, flag] = key;
    text += fmt::format("{:<8} {:<20}", RowOf(kind).text, flag);
    for (const auto& [error, count] : errors)
      text += fmt::format(" {}={}", ErrnoText(error), count);
    text += "\n";
  }
  return text;
}

}  // namespace vfsd::differential
