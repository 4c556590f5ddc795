#include "tests/stress/history.h"

#include <algorithm>
#include <unordered_set>

namespace vfsd::stress {
namespace {

class Search {
 public:
  explicit Search(const History& history)
      : history_(history), position_(history.size(), 0) {}

  bool From(const NamespaceModel& model) {
    uint64_t first_end = UINT64_MAX;  // of what is not yet placed
    for (size_t t = 0; t < history_.size(); ++t) {
      if (position_[t] < history_[t].size())
        first_end = std::min(first_end, history_[t][position_[t]].end);
    }
    if (first_end == UINT64_MAX) return true;  // all are placed
    std::string key(reinterpret_cast<const char*>(position_.data()),
                    position_.size() * sizeof(position_[0]));
    model.AppendKey(key);
    if (!failed_.insert(std::move(key)).second) return false;
    for (size_t t = 0; t < history_.size(); ++t) {
      if (position_[t] == history_[t].size()) continue;
      const Event& event = history_[t][position_[t]];
      // Something else was over before it began: that comes first.
      if (event.begin > first_end) continue;
      NamespaceModel next = model;
      if (!next.Apply(t, event.step)) continue;
      ++position_[t];
      if (From(next)) return true;
      --position_[t];
    }
    return false;
  }

 private:
  const History& history_;
  std::vector<uint32_t> position_;  // of each thread: how many are placed
  // Positions and states that are being or have been tried, in vain.
  std::unordered_set<std::string> failed_;
};

}  // namespace

bool IsLinearizable(const History& history, const NamespaceModel& initial) {
  return Search(history).From(initial);
}

std::string Describe(const History& history) {
  std::vector<std::pair<uint64_t, std::string>> lines;
  for (size_t t = 0; t < history.size(); ++t) {
    for (const Event& event : history[t]) {
      lines.emplace_back(event.begin, std::to_string(event.begin) + " to " +
                                          std::to_string(event.end) +
                                          ", thread " + std::to_string(t) +
                                          ": " + Describe(event.step) + "\n");
    }
  }
  std::stable_sort(
      lines.begin(), lines.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text;
  for (const auto& [begin, line] : lines) text += line;
  return text;
}

}  // namespace vfsd::stress
