#include "client/load/trace_tree.h"

#include <fmt/format.h>

#include <deque>
#include <utility>

namespace vfsload {
namespace {

constexpr uint32_t kFormat = 0170000, kDirectory = 0040000, kRegular = 0100000,
                   kSymlink = 0120000;
// As the kernel's limit.
constexpr int kMaxLinks = 40;

std::string Parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

void PushComponents(std::string_view path, std::deque<std::string>* todo) {
  std::deque<std::string> parts;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    if (slash != 0) parts.emplace_back(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  todo->insert(todo->begin(), parts.begin(), parts.end());
}

}  // namespace

template <class Visit>
std::string TraceTree::Walk(std::string_view path, bool follow,
                            Visit visit) const {
  std::string here = "/";
  std::deque<std::string> todo;
  PushComponents(path, &todo);
  int links = 0;
  while (!todo.empty()) {
    const std::string name = std::move(todo.front());
    todo.pop_front();
    if (name == ".") continue;
    visit(here);
    if (name == "..") {
      here = Parent(here);
      continue;
    }
    std::string next = here == "/" ? "/" + name : here + "/" + name;
    const auto found = nodes_.find(next);
    const bool link = found != nodes_.end() &&
                      found->second.now == State::kPresent &&
                      !found->second.target.empty();
    if (link && (follow || !todo.empty()) && ++links <= kMaxLinks) {
      if (found->second.target.starts_with('/')) here = "/";
      PushComponents(found->second.target, &todo);
      continue;
    }
    here = std::move(next);
  }
  return here;
}

std::string TraceTree::Canonical(std::string_view path, bool follow) const {
  return Walk(path, follow, [](const std::string&) {});
}

void TraceTree::MarkDirectories(std::string_view path, bool follow) {
  std::vector<std::string> walked;
  Walk(path, follow,
       [&](const std::string& directory) { walked.push_back(directory); });
  for (std::string& directory : walked) {
    Node& node = nodes_[directory];
    if (node.now == State::kUnknown) node.initial = true;
    if ((node.mode & kFormat) != kDirectory) node.mode = kDirectory | 0755;
    if (node.initial && (node.initial_mode & kFormat) != kDirectory) {
      node.initial_mode = node.mode;
    }
    node.now = State::kPresent;
  }
}

void TraceTree::LearnSymlink(std::string_view path, std::string_view target) {
  MarkDirectories(path, false);
  Node& node = nodes_[Canonical(path, false)];
  if (node.now == State::kPresent && !node.initial) return;
  node.now = State::kPresent;
  node.initial = true;
  node.mode = node.initial_mode = kSymlink | 0777;
  node.target = target;
}

std::string TraceTree::SeePresent(std::string_view path, bool follow,
                                  uint32_t mode) {
  MarkDirectories(path, follow);
  std::string canonical = Canonical(path, follow);
  Node* node = &nodes_[canonical];
  const auto is_link = [&] { return (node->mode & kFormat) == kSymlink; };
  if (follow && node->now == State::kPresent && is_link()) {
    // It leads somewhere, and nobody ever asked where.
    const std::string target =
        fmt::format("/.vfsload-target-{}", made_targets_++);
    node->target = target;
    return SeePresent(target, true, mode);
  }
  std::string appeared;
  if (node->now == State::kAbsent) {
    appeared = canonical;
  } else if (node->now == State::kUnknown) {
    node->initial = true;
  }
  node->now = State::kPresent;
  // The last component of a path with a trailing slash is a directory.
  if (mode == 0 && path.ends_with('/')) mode = kDirectory | 0755;
  if (mode != 0 && (node->mode & kFormat) != kDirectory) node->mode = mode;
  if (node->initial && node->initial_mode == 0) node->initial_mode = node->mode;
  return appeared;
}

std::string TraceTree::SeeMissing(std::string_view path, bool follow) {
  std::string canonical = Canonical(path, follow);
  Node& node = nodes_[canonical];
  std::string disappeared;
  if (node.now == State::kPresent) {
    disappeared = canonical;
    node.target.clear();
  }
  node.now = State::kAbsent;
  return disappeared;
}

void TraceTree::Make(std::string_view path, uint32_t mode,
                     std::string_view target) {
  MarkDirectories(path, false);
  Node& node = nodes_[Canonical(path, false)];
  node.now = State::kPresent;
  node.mode = mode;
  node.target = target;
}

void TraceTree::Remove(std::string_view path) {
  Node& node = nodes_[Canonical(path, false)];
  node.now = State::kAbsent;
  // What was there at the start keeps its target for then; links that a trace
  // removes are seldom, and are made anew as what they were.
  if (!node.initial) node.target.clear();
}

void TraceTree::Rename(std::string_view from, std::string_view to) {
  const std::string old_path = Canonical(from, false);
  MarkDirectories(to, false);
  const std::string new_path = Canonical(to, false);
  // It and all that is in it.
  std::vector<std::pair<std::string, Node>> moved;
  for (auto it = nodes_.lower_bound(old_path);
       it != nodes_.end() && it->first.starts_with(old_path); ++it) {
    const std::string rest = it->first.substr(old_path.size());
    if (!rest.empty() && rest[0] != '/') continue;
    if (it->second.now == State::kUnknown) continue;
    moved.emplace_back(new_path + rest, it->second);
    it->second.now = State::kAbsent;
  }
  for (auto& [path, node] : moved) {
    Node& there = nodes_[path];
    there.now = node.now;
    there.mode = node.mode;
    there.target = node.target;
  }
}

bool TraceTree::IsPresent(std::string_view path, bool follow) {
  const auto found = nodes_.find(Canonical(path, follow));
  return found != nodes_.end() && found->second.now == State::kPresent;
}

bool TraceTree::IsMade(std::string_view path) const {
  const auto found = nodes_.find(Canonical(path, false));
  return found != nodes_.end() && found->second.now == State::kPresent &&
         !found->second.initial;
}

uint32_t TraceTree::ModeOf(const std::string& canonical) const {
  const auto found = nodes_.find(canonical);
  const uint32_t mode = found == nodes_.end() ? 0 : found->second.mode;
  return (mode & kFormat) == 0 ? kRegular | 0755 : mode;
}

std::vector<TraceTree::Entry> TraceTree::Initial() const {
  std::vector<Entry> entries;
  for (const auto& [path, node] : nodes_) {
    if (!node.initial || path == "/") continue;
    uint32_t mode = node.initial_mode != 0 ? node.initial_mode : node.mode;
    if ((mode & kFormat) == 0) mode = kRegular | 0755;
    Entry entry{path, mode, {}};
    if ((mode & kFormat) == kSymlink) {
      entry.target = node.target.empty() ? "/.vfsload-nowhere" : node.target;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace vfsload
