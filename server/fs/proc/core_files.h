// The server's own proc files, which are there for the life of the server and
// so are permanent: version, uptime, mounts, stat, cpuinfo, meminfo.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/fs/proc/proc_file_system.h"
#include "server/vfs/mount.h"

namespace vfsd::proc {

struct CoreFilesOptions {
  // The line of /proc/version, without a newline: "vfsd version 0.1.0 (…)".
  std::string version;
  // What uptime counts from.
  absl::Time started;
  // Makes the content of /proc/stat (statistics_text.h); whoever wires the
  // server knows where its counters are. Must be callable as long as a file can
  // be read, and must not end a session: that waits for reads.
  std::function<std::string()> statistics;
  // How old what is told of them may be. Not 0 in a server: it sums every
  // thread's counters, and one batch can ask ten thousand times.
  absl::Duration statistics_max_age = absl::Milliseconds(100);
  // Where the host's cpuinfo and meminfo are, and how old what is told of them
  // may be.
  std::string host_proc = "/proc";
  absl::Duration host_max_age = absl::Seconds(1);
};

// mounts: of the Vfs that the file system is mounted in.
//
// version   options.version
// uptime    as /proc/uptime: seconds since the start, and the seconds that the
//           processors were not busy with this process, summed over processors
// mounts    mounts_text.h
// stat      options.statistics, cached
// cpuinfo, meminfo   the host's, cached
std::vector<CoreFile> MakeCoreFiles(CoreFilesOptions options,
                                    const vfs::MountTable& mounts);

}  // namespace vfsd::proc
