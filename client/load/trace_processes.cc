#include "client/load/trace_processes.h"

#include <utility>

namespace vfsload {

TraceProcesses::Process& TraceProcesses::Get(int pid) {
  Process& process = processes_[pid];
  if (!process.table) {
    process.table = std::make_shared<Table>();
    process.directory = std::make_shared<std::string>(directory_);
  }
  return process;
}

void TraceProcesses::Drop(const Slot& slot) {
  if (--slot.file->references == 0) on_closed_(*slot.file);
}

void TraceProcesses::Fork(int parent, int child, bool share_files,
                          bool share_directory) {
  const Process from = Get(parent);
  Process to;
  if (share_files) {
    to.table = from.table;
  } else {
    to.table = std::make_shared<Table>(*from.table);
    for (const auto& [descriptor, slot] : *to.table) ++slot.file->references;
  }
  to.directory = share_directory
                     ? from.directory
                     : std::make_shared<std::string>(*from.directory);
  Exit(child);  // an earlier process of that number
  processes_[child] = std::move(to);
}

void TraceProcesses::Exec(int pid) {
  Process& process = Get(pid);
  if (process.table.use_count() > 1) {
    process.table = std::make_shared<Table>(*process.table);
    for (const auto& [descriptor, slot] : *process.table) {
      ++slot.file->references;
    }
  }
  Table kept;
  for (const auto& [descriptor, slot] : *process.table) {
    if (slot.close_on_exec) {
      Drop(slot);
    } else {
      kept.emplace(descriptor, slot);
    }
  }
  *process.table = std::move(kept);
}

void TraceProcesses::Exit(int pid) {
  const auto found = processes_.find(pid);
  if (found == processes_.end()) return;
  const Process process = std::move(found->second);
  processes_.erase(found);
  if (process.table.use_count() > 1) return;
  for (const auto& [descriptor, slot] : *process.table) Drop(slot);
}

void TraceProcesses::ExitAll() {
  while (!processes_.empty()) Exit(processes_.begin()->first);
}

const std::string& TraceProcesses::directory(int pid) {
  return *Get(pid).directory;
}

void TraceProcesses::SetDirectory(int pid, std::string directory) {
  *Get(pid).directory = std::move(directory);
}

std::shared_ptr<TraceFile> TraceProcesses::Find(int pid, int descriptor) {
  Table& table = *Get(pid).table;
  const auto found = table.find(descriptor);
  return found == table.end() ? nullptr : found->second.file;
}

void TraceProcesses::Open(int pid, int descriptor,
                          std::shared_ptr<TraceFile> file, bool close_on_exec) {
  ++file->references;
  Close(pid, descriptor);
  (*Get(pid).table)[descriptor] = {std::move(file), close_on_exec};
}

bool TraceProcesses::Close(int pid, int descriptor) {
  Table& table = *Get(pid).table;
  const auto found = table.find(descriptor);
  if (found == table.end()) return false;
  const Slot slot = std::move(found->second);
  table.erase(found);
  Drop(slot);
  return true;
}

void TraceProcesses::CloseRange(int pid, unsigned first, unsigned last) {
  Table& table = *Get(pid).table;
  while (true) {
    const auto found = table.lower_bound(static_cast<int>(first));
    if (found == table.end() || static_cast<unsigned>(found->first) > last) {
      return;
    }
    Close(pid, found->first);
  }
}

void TraceProcesses::SetCloseOnExec(int pid, int descriptor, bool value) {
  Table& table = *Get(pid).table;
  const auto found = table.find(descriptor);
  if (found != table.end()) found->second.close_on_exec = value;
}

}  // namespace vfsload
