// The processes of a trace: their working directories and descriptor tables.
//
// As in Linux: a table may be shared by threads (CLONE_FILES) and is copied by
// a fork; a descriptor refers to an open file that others may refer to too
// (dup, fork); the open file is closed with its last reference. Descriptors
// that the trace did not open (inherited ones, pipes, sockets) are not here. A
// plain value.
#ifndef CLIENT_LOAD_TRACE_PROCESSES_H_
#define CLIENT_LOAD_TRACE_PROCESSES_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace vfsload {

// What an open call of the trace opened.
struct TraceFile {
  // Index of the replayed operation that opens it.
  size_t opener = 0;
  // As it was opened, absolute.
  std::string path;
  size_t references = 0;
};

class TraceProcesses {
 public:
  // Called when the last reference of a file is gone.
  using OnClosed = std::function<void(const TraceFile&)>;

  // `directory`: where processes are whose parents are not in the trace.
  TraceProcesses(std::string directory, OnClosed on_closed)
      : directory_(std::move(directory)), on_closed_(std::move(on_closed)) {}

  // `child` starts as a copy of `parent`, or shares what is said.
  void Fork(int parent, int child, bool share_files, bool share_directory);
  // A successful execve.
  void Exec(int pid);
  void Exit(int pid);

  const std::string& directory(int pid);
  void SetDirectory(int pid, std::string directory);

  // nullptr: not opened in the trace.
  std::shared_ptr<TraceFile> Find(int pid, int descriptor);
  // Replaces (and so closes) what is there.
  void Open(int pid, int descriptor, std::shared_ptr<TraceFile> file,
            bool close_on_exec);
  // Whether there was such a descriptor.
  bool Close(int pid, int descriptor);
  void CloseRange(int pid, unsigned first, unsigned last);
  void SetCloseOnExec(int pid, int descriptor, bool value);

  // Ends all processes.
  void ExitAll();

 private:
  struct Slot {
    std::shared_ptr<TraceFile> file;
    bool close_on_exec = false;
  };
  using Table = std::map<int, Slot>;
  struct Process {
    std::shared_ptr<Table> table;
    std::shared_ptr<std::string> directory;
  };

  Process& Get(int pid);
  void Drop(const Slot& slot);

  std::string directory_;
  OnClosed on_closed_;
  std::unordered_map<int, Process> processes_;
};

}  // namespace vfsload

#endif  // CLIENT_LOAD_TRACE_PROCESSES_H_
