// What to ask a server so that it is asked what a trace's processes asked their
// kernel: operations with the answers that the kernel gave, the namespace that
// they were given on, and an account of every call that is not among them.
//
// Everything lives below one directory of the server (`root`), so that a trace
// of any machine can be replayed on any server. A path that starts at a working
// directory is sent with that directory in front, since a session has none; one
// that starts at an open directory is sent with its handle. Each open file is
// closed once, with its last descriptor. A plain value.
#ifndef CLIENT_LOAD_REPLAY_PLAN_H_
#define CLIENT_LOAD_REPLAY_PLAN_H_

#include <cstddef>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/load/strace_log.h"
#include "client/load/trace_tree.h"
#include "vfs/v1/vfs.pb.h"

namespace vfsload {

struct ReplayOperation {
  vfs::v1::BatchOperation operation;
  // The operation whose open file this one uses; none where there is none.
  std::optional<size_t> uses;
  int expected_errno = 0;
  std::optional<double> time;
  // Index of the call in the log; none for what the replay adds: the closes of
  // a process's end, and changes that the trace does not show.
  std::optional<size_t> call;
};

struct ReplayPlan {
  std::vector<ReplayOperation> operations;
  std::vector<TraceTree::Entry> tree;
  // Calls of the trace, and how many of them are replayed: the difference is
  // what is left out.
  size_t calls = 0;
  size_t replayed = 0;
  // Calls left out, by reason.
  std::map<std::string, size_t> left_out;
  // Operations added, by reason.
  std::map<std::string, size_t> added;
  // Open files that nothing closes before the end of the trace: closed there.
  size_t processes = 0;

  static ReplayPlan Make(const StraceLog& log, const std::string& root);
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_REPLAY_PLAN_H_
