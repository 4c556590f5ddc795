#include "tests/stress/namespace_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace vfsd::stress {

std::string Describe(const Step& step) {
  static constexpr const char* kActions[] = {
      "stat",   "open",      "create",   "open-or-create", "unlink",
      "rename", "noreplace", "exchange", "link (lookup)",  "link (add)"};
  std::string text = kActions[static_cast<size_t>(step.action)];
  text += std::string(" ") + kNames[step.name];
  if (step.action >= Action::kRename)
    text += std::string(" ") + kNames[step.other];
  text += " = " + std::string(ErrnoName(step.error));
  if (step.ino != 0) text += " ino " + std::to_string(step.ino);
  return text;
}

bool NamespaceModel::Apply(size_t thread, const Step& step) {
  uint64_t& name = inos_[step.name];
  uint64_t& other = inos_[step.other];
  const auto fails = [&step](Errno error) { return step.error == error; };
  const bool succeeded = step.error == Errno::kOk;
  // A file that is made has a number that no other has.
  const auto is_new = [this](uint64_t ino) {
    return ino != 0 &&
           std::find(inos_.begin(), inos_.end(), ino) == inos_.end();
  };
  switch (step.action) {
    case Action::kStat:
    case Action::kOpen:
      if (name == 0) return fails(Errno::kENOENT);
      return succeeded && step.ino == name;
    case Action::kCreateExclusive:
      if (name != 0) return fails(Errno::kEEXIST);
      if (!succeeded || !is_new(step.ino)) return false;
      name = step.ino;
      return true;
    case Action::kOpenOrCreate:
      if (!succeeded) return false;
      if (name != 0) return step.ino == name;
      if (!is_new(step.ino)) return false;
      name = step.ino;
      return true;
    case Action::kUnlink:
      if (name == 0) return fails(Errno::kENOENT);
      if (!succeeded) return false;
      name = 0;
      return true;
    case Action::kRename:
      if (name == 0) return fails(Errno::kENOENT);
      if (!succeeded) return false;
      // Two names of one file: nothing happens.
      if (other != name) other = std::exchange(name, 0);
      return true;
    case Action::kRenameNoreplace:
      if (name == 0) return fails(Errno::kENOENT);
      if (other != 0) return fails(Errno::kEEXIST);
      if (!succeeded) return false;
      other = std::exchange(name, 0);
      return true;
    case Action::kExchange:
      if (name == 0 || other == 0) return fails(Errno::kENOENT);
      if (!succeeded) return false;
      std::swap(name, other);
      return true;
    case Action::kLinkLookup:
      looked_up_[thread] = name;
      return true;
    case Action::kLinkAdd: {
      const uint64_t ino = std::exchange(looked_up_[thread], 0);
      if (ino == 0) return fails(Errno::kENOENT);
      if (other != 0) return fails(Errno::kEEXIST);
      const bool has_name =
          std::find(inos_.begin(), inos_.end(), ino) != inos_.end();
      if (!succeeded) return fails(Errno::kENOENT) && !has_name;
      // Also when the last name is gone: whether a link still comes in before
      // the file ends is decided by its link count, which an unlink under way
      // changes a moment after the name (the kernel: a moment before).
      other = ino;
      return true;
    }
  }
  return false;
}

void NamespaceModel::AppendKey(std::string& key) const {
  const auto append = [&key](const auto& words) {
    const size_t bytes = words.size() * sizeof(words[0]);
    const size_t at = key.size();
    key.resize(at + bytes);
    std::memcpy(key.data() + at, words.data(), bytes);
  };
  append(inos_);
  append(looked_up_);
}

}  // namespace vfsd::stress
