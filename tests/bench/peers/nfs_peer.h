// NfsPeer: nfs-ganesha with its file system in memory, asked through libnfs:
// one question at a time, or many in flight on one connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/wire/process.h"

struct nfs_context;

namespace wirebench {

enum class NfsQuestion { kOpenClose, kStat, kFailedOpen };

class NfsPeer {
 public:
  // Makes the files `there`.
  NfsPeer(const std::string& scratch, const std::vector<std::string>& there,
          const std::vector<std::string>& missing);
  ~NfsPeer();

  const Process& process() const { return *process_; }

  // Asks until the time is over; returns how many operations (an open with its
  // close is two) were answered.
  uint64_t AskOneByOne(NfsQuestion question, std::chrono::nanoseconds duration);
  uint64_t AskMany(NfsQuestion question, std::chrono::nanoseconds duration);

 private:
  const std::string& NextPath(NfsQuestion question);

  const std::vector<std::string> there_;
  const std::vector<std::string> missing_;
  std::unique_ptr<Process> process_;
  nfs_context* Mount(int port);

  std::vector<nfs_context*> connections_;  // closed in the destructor
  size_t next_ = 0;

  friend class NfsFlight;
};

}  // namespace wirebench
