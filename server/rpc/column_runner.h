// ColumnRunner: runs the column groups of a batch and writes their results: the
// arguments are read off the request's arrays, and each result is written
// straight into the place that it has in the response's arrays.
//
// Written by hand, because a batch of a thousand stats through objects costs
// several times the stats themselves. Each operation still goes through the
// executor, as all others do.
//
// Thread safety: none; a worker of a queue has one and uses its memory again.
#pragma once

#include <cstdint>
#include <vector>

#include "server/base/errno.h"
#include "server/rpc/column_request.h"
#include "server/rpc/wire_writer.h"
#include "server/vfs/executor.h"

namespace vfsd::rpc {

class ColumnRunner {
 public:
  // max_bytes: what a response is kept within.
  ColumnRunner(vfs::Executor& executor, size_t max_bytes)
      : executor_(executor), max_bytes_(max_bytes) {}

  // Writes one ColumnGroupResult for each group. stopped: nothing is run any
  // more; set after the first error with `stop_on_error`.
  void Run(const vfs::Caller& caller, const std::vector<ColumnGroup>& groups,
           bool stop_on_error, bool stopped, WireWriter& writer);

 private:
  void RunOpen(const ColumnGroup& group, WireWriter& writer);
  void RunClose(const ColumnGroup& group);
  void RunStat(const ColumnGroup& group, WireWriter& writer);
  void RunAccess(const ColumnGroup& group);
  void RunRead(const ColumnGroup& group, WireWriter& writer);

  // Runs `operation` for each of the group's paths; `done(i, result)` sees what
  // succeeded.
  template <typename Operation, typename Done>
  void ForEachPath(const ColumnGroup& group, Operation& operation, Done&& done);
  // `run_one(i, handle)` for each of the group's files that there is.
  template <typename RunOneFile>
  void ForEachFile(const ColumnGroup& group, RunOneFile&& run_one);
  template <typename Operation, typename Done>
  void RunOne(size_t index, const Operation& operation, Done&& done);
  void Fail(size_t index, size_t count, Errno error);

  vfs::Executor& executor_;
  const size_t max_bytes_;

  // Of the message that is run.
  const vfs::Caller* caller_ = nullptr;
  bool stop_on_error_ = false;
  bool stopped_ = false;
  // The handles that the groups opened, 0 for none; and where, by group, its
  // own begin.
  std::vector<vfs::Handle> opened_;
  std::vector<size_t> opened_begin_;
  // Of the group that is run. Empty: all has succeeded so far.
  std::vector<uint32_t> errors_;
  size_t count_ = 0;
  size_t index_ = 0;
  std::vector<uint32_t> masks_;
  std::vector<uint32_t> ends_;
};

}  // namespace vfsd::rpc
