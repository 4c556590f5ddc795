#include "server/metrics/vfs_metrics.h"

#include <algorithm>
#include <array>
#include <string>

#include "server/base/errno.h"
#include "server/metrics/metric_families.h"
#include "server/vfs/fast_paths.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/operation.h"

namespace vfsd::metrics {
namespace {

using vfs::ObjectKind;
using vfs::OperationKind;

// Results that an operation is likely to have: their series exist from the
// start, at 0, so that a rate or a join never misses its first samples. Others
// appear when they first happen.
constexpr Errno kPathErrors[] = {
    Errno::kENOENT,       Errno::kEACCES, Errno::kENOTDIR, Errno::kELOOP,
    Errno::kENAMETOOLONG, Errno::kEINVAL, Errno::kEBADF,   Errno::kEFAULT};
constexpr Errno kOpenErrors[] = {Errno::kEEXIST, Errno::kEISDIR, Errno::kEMFILE,
                                 Errno::kENFILE, Errno::kEROFS};
constexpr Errno kHandleErrors[] = {Errno::kEBADF, Errno::kESTALE};
constexpr Errno kReadErrors[] = {Errno::kEBADF,      Errno::kESTALE,
                                 Errno::kEINVAL,     Errno::kEISDIR,
                                 Errno::kEOPNOTSUPP, Errno::kEIO};
constexpr Errno kChangeErrors[] = {
    Errno::kEEXIST, Errno::kENOTEMPTY, Errno::kEISDIR, Errno::kEPERM,
    Errno::kEROFS,  Errno::kEBUSY,     Errno::kEXDEV};

template <size_t size>
bool Contains(const Errno (&errors)[size], Errno error) {
  return std::ranges::find(errors, error) != std::end(errors);
}

bool IsLikely(OperationKind kind, Errno error) {
  switch (kind) {
    case OperationKind::kOpen:
      return Contains(kPathErrors, error) || Contains(kOpenErrors, error);
    case OperationKind::kClose:
      return Contains(kHandleErrors, error);
    case OperationKind::kStat:
    case OperationKind::kAccess:
    case OperationKind::kReadDirectory:
    case OperationKind::kReadLink:
    case OperationKind::kStatFilesystem:
      return Contains(kPathErrors, error);
    case OperationKind::kRead:
      return Contains(kReadErrors, error);
    case OperationKind::kMakeDirectory:
    case OperationKind::kUnlink:
    case OperationKind::kRename:
    case OperationKind::kMakeNode:
    case OperationKind::kMakeSymlink:
    case OperationKind::kMakeLink:
    case OperationKind::kSetAttributes:
      return Contains(kPathErrors, error) || Contains(kChangeErrors, error);
  }
  return false;
}

template <typename Visit>
void ForEachOperation(Visit&& visit) {
  for (size_t i = 0; i < vfs::kOperationKindCount; ++i) {
    const auto kind = static_cast<OperationKind>(i);
    visit(kind, std::string(vfs::OperationKindName(kind)));
  }
}

double Count(ObjectKind kind) {
  // A sum over shards that change meanwhile can be off by a few.
  return static_cast<double>(
      std::max<int64_t>(0, vfs::live_objects::Count(kind)));
}

prometheus::MetricFamily Operations(const vfs::OperationCounters& counters) {
  Family family = Counter(
      "vfs_ops_total",
      "Operations that ended, unary and batched, by operation and result "
      "(ok, or the name of the Linux error).");
  ForEachOperation([&](OperationKind kind, const std::string& name) {
    for (int32_t value = 0; value < kErrnoLimit; ++value) {
      const auto result = static_cast<Errno>(value);
      const uint64_t ended = counters.Ended(kind, result);
      if (ended == 0 && result != Errno::kOk && !IsLikely(kind, result))
        continue;
      const std::string text =
          result == Errno::kOk ? "ok" : std::string(ErrnoName(result));
      family.Add({{"op", name}, {"result", text}}, static_cast<double>(ended));
    }
  });
  return family.Take();
}

prometheus::MetricFamily Durations(const vfs::OperationCounters& counters) {
  Family family = Histogram(
      "vfs_op_duration_seconds",
      "Time in the core, without the network, of a sample of operations.");
  ForEachOperation([&](OperationKind kind, const std::string& name) {
    const vfs::OperationCounters::Durations durations =
        counters.ReadDurations(kind);
    family.AddHistogram({{"op", name}}, vfs::OperationCounters::kBucketBounds,
                        durations.buckets, durations.sum_nanoseconds);
  });
  return family.Take();
}

prometheus::MetricFamily Inodes() {
  constexpr std::array<std::pair<ObjectKind, const char*>, 5> kTypes = {{
      {ObjectKind::kRegularInode, "regular"},
      {ObjectKind::kDirectoryInode, "directory"},
      {ObjectKind::kSymlinkInode, "symlink"},
      {ObjectKind::kSpecialInode, "special"},
      {ObjectKind::kSyntheticInode, "synthetic"},
  }};
  Family family = Gauge("vfs_inodes", "Inodes in memory by type.");
  for (const auto& [kind, name] : kTypes)
    family.Add({{"type", name}}, Count(kind));
  return family.Take();
}

template <typename Value>
prometheus::MetricFamily PerFastPath(Family family, Value&& value) {
  for (const vfs::FastPath path : vfs::kAllFastPaths) {
    family.Add({{"fast_path", std::string(vfs::FastPathName(path))}},
               static_cast<double>(value(path)));
  }
  return family.Take();
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectVfsMetrics(
    const MetricsSources& sources) {
  vfs::Vfs& vfs = sources.vfs;
  std::vector<prometheus::MetricFamily> families;
  const auto add = [&](Family family, double value) {
    families.push_back(family.Add({}, value).Take());
  };
  families.push_back(Operations(sources.operations));
  families.push_back(Durations(sources.operations));
  add(Gauge("vfs_open_handles", "Open handles of all sessions."),
      static_cast<double>(sources.sessions.open_handles()));
  add(Gauge("vfs_sessions", "Open sessions."),
      static_cast<double>(sources.sessions.size()));
  add(Gauge("vfs_sessions_limit", "Most open sessions (--max-sessions)."),
      static_cast<double>(sources.sessions.limits().max_sessions));
  add(Counter("vfs_sessions_expired_total",
              "Sessions that ended because their lease lapsed."),
      static_cast<double>(sources.sessions.expired_total()));
  families.push_back(Inodes());
  add(Gauge("vfs_dentries", "Names in memory."), Count(ObjectKind::kDentry));
  add(Gauge("vfs_files",
            "Open file objects in memory, those on their way in or out "
            "included."),
      Count(ObjectKind::kFile));
  add(Gauge("vfs_files_limit",
            "Most open files of all sessions (--max-files)."),
      static_cast<double>(vfs.files.max_files()));
  add(Gauge("vfs_mounts", "Mounts."), Count(ObjectKind::kMount));
  families.push_back(PerFastPath(
      Counter("vfs_fast_path_hits_total",
              "Operations that took the fast path."),
      [&](vfs::FastPath path) { return vfs.fast_paths.hits(path); }));
  families.push_back(
      PerFastPath(Gauge("vfs_fast_path_enabled",
                        "1 if the fast path is switched on, else 0."),
                  [&](vfs::FastPath path) {
                    return vfs.fast_paths.enabled(path) ? 1 : 0;
                  }));
  add(Counter("vfs_deferred_files_total",
              "Files that were given back through the deferred list."),
      static_cast<double>(vfs.files.deferred_total()));
  add(Counter(
          "vfs_never_opened_extra_references_total",
          "Never-opened files that somebody else still held a reference to."),
      static_cast<double>(vfs.files.extra_references_total()));
  families.push_back(
      Counter("vfs_walks_total",
              "Path walks by the walk that answered: lock-free, or locked.")
          .Add({{"walk", "fast"}}, static_cast<double>(vfs.fast_walks.Sum()))
          .Add({{"walk", "locked"}},
               static_cast<double>(vfs.locked_walks.Sum()))
          .Take());
  return families;
}

}  // namespace vfsd::metrics
