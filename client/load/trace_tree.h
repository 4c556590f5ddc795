// The namespace that a trace was recorded on, as far as its answers tell.
//
// What the trace finds was there before, unless the trace itself made it; what
// it does not find was not. Told of one answer after the other, in order, the
// tree knows what must be there at the start, and notices when something
// appears or disappears that no call of the trace explains. Paths are absolute
// and may hold "." and ".." and symbolic links that the tree knows of. A plain
// value.
#ifndef CLIENT_LOAD_TRACE_TREE_H_
#define CLIENT_LOAD_TRACE_TREE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace vfsload {

class TraceTree {
 public:
  struct Entry {
    std::string path;
    uint32_t mode = 0;  // type and permission bits, as in st_mode
    std::string target;
  };

  // Before anything else: a link that is there at the start.
  void LearnSymlink(std::string_view path, std::string_view target);

  // An answer says that `path` is there; `mode` is its st_mode or 0 where the
  // answer does not tell; `follow`: what a link at its end leads to. Returns
  // the path where something must have appeared unseen, or "".
  std::string SeePresent(std::string_view path, bool follow, uint32_t mode);
  // An answer says that it is not. Returns the path where something must have
  // disappeared unseen, or "".
  std::string SeeMissing(std::string_view path, bool follow);

  // A call of the trace made, removed or renamed something.
  void Make(std::string_view path, uint32_t mode, std::string_view target = {});
  void Remove(std::string_view path);
  void Rename(std::string_view from, std::string_view to);

  // Whether it is there now; false where that is not known.
  bool IsPresent(std::string_view path, bool follow);
  // Whether it is there because a call of the trace made it.
  bool IsMade(std::string_view path) const;
  uint32_t ModeOf(const std::string& canonical) const;

  // What must be there at the start, parents first.
  std::vector<Entry> Initial() const;

  // Without ".", ".." and links, except the last component if not `follow`.
  std::string Canonical(std::string_view path, bool follow) const;

 private:
  enum class State { kUnknown, kPresent, kAbsent };
  struct Node {
    State now = State::kUnknown;
    bool initial = false;
    uint32_t mode = 0;
    // Of the first node that was at this path; the mode above may be of a
    // later one.
    uint32_t initial_mode = 0;
    std::string target;
  };

  // `visit` is called with every directory that is walked through.
  template <class Visit>
  std::string Walk(std::string_view path, bool follow, Visit visit) const;
  void MarkDirectories(std::string_view path, bool follow);

  std::map<std::string, Node, std::less<>> nodes_;
  size_t made_targets_ = 0;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_TRACE_TREE_H_
