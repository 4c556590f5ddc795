// File: an open file description, from EMPTY over OPENED to closed, and how it
// is given back. The kernel's struct file.
//
// States. EMPTY: allocated for an open attempt, not yet opened; nobody else can
// see it. OPENED: it has a path and may be in a file table. A failed open gives
// an EMPTY file back (release-empty: at once; general: through the deferred
// list) and an OPENED one (a late error) always through the deferred list.
//
// References. One for the file table's slot (or the opener until then), one for
// each operation that uses the file for more than a look. The last Put defers
// the file: it goes on the thread's deferred list, which is drained before the
// operation's answer leaves (the kernel's task_work).
//
// Memory. A file's memory is used again at once, but only ever for files (the
// kernel's SLAB_TYPESAFE_BY_RCU): FileTable::Look may read a file that is ended
// under it and made anew, and then sees from the slot that it must not believe
// what it read. What it reads are atomics. Sanitizer builds wait for a grace
// period instead, so that they find what reads more than that.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "server/base/errno.h"
#include "server/base/result.h"
#include "server/sync/block_pool.h"
#include "server/sync/reference_count.h"
#include "server/vfs/credentials.h"
#include "server/vfs/path.h"

namespace vfsd::vfs {

class FileAccounting;

// Bits of File::mode().
enum FileMode : uint32_t {
  kFileRead = 1U << 0,
  kFileWrite = 1U << 1,
  kFilePathOnly = 1U << 2,  // O_PATH
  kFileOpened = 1U << 3,
  kFileNoAccount = 1U << 4,  // not counted in nr_files
  kFileBacking = 1U << 5,    // owns more than its path: never released as empty
  kFileWriter = 1U << 6,     // holds the mount's write count
};

// What a provider keeps for an open file.
class FilePrivateData {
 public:
  virtual ~FilePrivateData() = default;
};

class File {
 public:
  uint32_t flags() const { return flags_.load(std::memory_order_relaxed); }
  uint32_t mode() const { return mode_.load(std::memory_order_relaxed); }
  bool HasMode(FileMode bit) const { return (mode() & bit) != 0; }
  // Who opened it. To compare: kept alive by the session whose table the file
  // is in, or by KeepOpener.
  const Credentials* opener() const {
    return opener_.load(std::memory_order_relaxed);
  }
  // For an opener that is not its session's own credentials.
  void KeepOpener(CredentialsRef credentials) {
    kept_opener_ = std::move(credentials);
  }

  // OPENED only; valid as long as the file is pinned.
  PathView path() const {
    return {mount_.load(std::memory_order_relaxed),
            inode_.load(std::memory_order_relaxed)};
  }
  Inode& inode() const { return *inode_.load(std::memory_order_relaxed); }

  // For the SyntheticFile of an open synthetic file.
  std::unique_ptr<FilePrivateData> private_data;

  sync::ReferenceCount references{1};

  // Files come from a pool: a failed open asks the general heap for nothing.
  static void* operator new(size_t) {
    return sync::BlockPool<kBlockBytes>::Allocate();
  }
  static void operator delete(void* memory) {
    sync::BlockPool<kBlockBytes>::Free(memory);
  }

 private:
  static constexpr size_t kBlockBytes = 128;

  friend class FileAccounting;
  friend class FileOpener;
  File(uint32_t flags, const Credentials& opener, FileAccounting& accounting,
       uint32_t mode);
  ~File();

  // The file owns the references from here on, and gives them up.
  void SetPath(PinnedPath&& path) {
    const PathView view = std::move(path).Release();
    mount_.store(view.mount, std::memory_order_relaxed);
    inode_.store(view.inode, std::memory_order_relaxed);
  }
  PinnedPath TakePath() {
    const PathView view = path();
    mount_.store(nullptr, std::memory_order_relaxed);
    inode_.store(nullptr, std::memory_order_relaxed);
    return PinnedPath::Adopt(view);
  }

  FileAccounting& accounting_;
  std::atomic<uint32_t> flags_;
  std::atomic<uint32_t> mode_;
  std::atomic<const Credentials*> opener_;
  CredentialsRef kept_opener_;
  // References are owned once OPENED (or while a late error is on its way).
  std::atomic<Mount*> mount_{nullptr};
  std::atomic<Inode*> inode_{nullptr};
  File* next_deferred_ = nullptr;
};

// Hooks where a security policy, or a test's injected fault, can take part.
class SecurityHooks {
 public:
  virtual ~SecurityHooks() = default;
  // security_file_alloc/free: called in pairs.
  virtual Errno FileAlloc(const Credentials&) { return Errno::kOk; }
  virtual void FileFree() {}
  // security_file_post_open: an error here is a late one.
  virtual Errno FilePostOpen(const File&) { return Errno::kOk; }
  // security_inode_getattr.
  virtual Errno InodeGetattr(const Inode&) { return Errno::kOk; }
};

// How many files there are, may be, and how they ended. Also the only maker and
// destroyer of Files.
class FileAccounting {
 public:
  // max_files: nr_files' limit for the unprivileged (fs.file-max).
  FileAccounting(int64_t max_files, SecurityHooks* hooks)
      : max_files_(max_files), hooks_(hooks) {}

  // alloc_empty_file(): ENFILE at the limit, two-stage (approximate, then
  // exact), or the security hook's error. accounted = false:
  // alloc_empty_file_noaccount().
  Result<File*> AllocateEmpty(uint32_t flags, const CredentialsRef& credentials,
                              bool accounted = true, uint32_t extra_mode = 0);

  // release_empty_file(): `file` is EMPTY and the caller's. Frees it at once;
  // falls back to Put where somebody else holds a reference (counted).
  void ReleaseEmpty(File* file);

  // fput(): drops a reference; the last one puts the file on the thread's
  // deferred list.
  void Put(File* file);
  // The same for a reference that is known to be the only one, of a file that
  // nobody can find any more.
  void PutOnly(File* file);

  // Ends the files on the calling thread's deferred list, of any accounting:
  // task_work_run().
  static void DrainDeferred();

  int64_t nr_files() const { return counters_.Sum(Counter::kNrFiles); }
  int64_t max_files() const { return max_files_; }
  int64_t deferred_total() const { return counters_.Sum(Counter::kDeferred); }
  int64_t extra_references_total() const {
    return counters_.Sum(Counter::kExtraReferences);
  }
  // fsnotify's IN_OPEN and IN_CLOSE, as counts.
  int64_t open_events() const { return counters_.Sum(Counter::kOpenEvents); }
  int64_t close_events() const { return counters_.Sum(Counter::kCloseEvents); }
  void CountOpenEvent() { counters_.Add(Counter::kOpenEvents, 1); }
  // Handles installed in all file tables.
  int64_t open_handles() const { return counters_.Sum(Counter::kOpenHandles); }
  void CountHandles(int64_t delta) {
    counters_.Add(Counter::kOpenHandles, delta);
  }

  SecurityHooks* hooks() const { return hooks_; }

 private:
  enum class Counter : uint8_t {
    kNrFiles,
    kDeferred,
    kExtraReferences,
    kOpenEvents,
    kCloseEvents,
    kOpenHandles,
  };
  static constexpr size_t kCounterCount = 6;

  // When a thread's shard last looked at nr_files, and what it saw.
  struct alignas(64) LimitWatch {
    std::atomic<uint32_t> until_look{0};
    std::atomic<bool> near{false};
  };

  // The cheap first stage of the limit check: may the limit be near?
  bool NearLimit();
  void Finish(File* file);

  const int64_t max_files_;
  SecurityHooks* const hooks_;
  std::array<LimitWatch, kCounterShards> watches_;
  ShardedCounters<Counter, kCounterCount> counters_;
};

}  // namespace vfsd::vfs
