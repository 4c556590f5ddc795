#include "server/vfs/file.h"

#include "server/sync/rcu.h"
#include "server/vfs/live_objects.h"
#include "server/vfs/synthetic_file.h"

namespace vfsd::vfs {
namespace {

// The thread's files whose last reference is gone, newest first.
constinit thread_local File* deferred_files = nullptr;

}  // namespace

File::File(uint32_t flags, const Credentials& opener,
           FileAccounting& accounting, uint32_t mode)
    : accounting_(accounting), flags_(flags), mode_(mode), opener_(&opener) {
  static_assert(sizeof(File) <= kBlockBytes);
  live_objects::Add(ObjectKind::kFile, 1);
}

File::~File() { live_objects::Add(ObjectKind::kFile, -1); }

bool FileAccounting::NearLimit() {
  // Between two looks at all shards each thread may open this many files; the
  // margin allows for every shard doing so.
  constexpr uint32_t kLookInterval = 64;
  constexpr int64_t kMargin = int64_t{kLookInterval} * int64_t{kCounterShards};
  LimitWatch& watch = watches_[CounterShard()];
  // relaxed: two threads of a shard look a little earlier or later.
  uint32_t left = watch.until_look.load(std::memory_order_relaxed);
  if (left == 0) {
    watch.near.store(counters_.Sum(Counter::kNrFiles) + kMargin >= max_files_,
                     std::memory_order_relaxed);
    left = kLookInterval;
  }
  watch.until_look.store(left - 1, std::memory_order_relaxed);
  return watch.near.load(std::memory_order_relaxed);
}

Result<File*> FileAccounting::AllocateEmpty(uint32_t flags,
                                            const CredentialsRef& credentials,
                                            bool accounted,
                                            uint32_t extra_mode) {
  if (accounted && !credentials->IsPrivileged() && NearLimit() &&
      counters_.Sum(Counter::kNrFiles) >= max_files_) {
    return Fail(Errno::kENFILE);
  }
  if (hooks_ != nullptr) {
    const Errno error = hooks_->FileAlloc(*credentials);
    if (error != Errno::kOk) return Fail(error);
  }
  const uint32_t mode =
      (accounted ? 0U : uint32_t{kFileNoAccount}) | extra_mode;
  auto* const file = new File(flags, *credentials, *this, mode);
  if (accounted) counters_.Add(Counter::kNrFiles, 1);
  return file;
}

void FileAccounting::ReleaseEmpty(File* file) {
  if (file->HasMode(kFileOpened) || file->HasMode(kFileBacking) ||
      !file->references.IsOnly()) {
    // Somebody got hold of a file that was never opened. Freeing it under them
    // would be worse than the wait; the counter, which is a metric and a line
    // of /proc/stat, says that there is somebody to be found.
    counters_.Add(Counter::kExtraReferences, 1);
    Put(file);
    return;
  }
  if (hooks_ != nullptr) hooks_->FileFree();
  if (!file->HasMode(kFileNoAccount)) counters_.Add(Counter::kNrFiles, -1);
  delete file;
}

void FileAccounting::Put(File* file) {
  if (file->references.Put()) PutOnly(file);
}

void FileAccounting::PutOnly(File* file) {
  counters_.Add(Counter::kDeferred, 1);
  file->next_deferred_ = deferred_files;
  deferred_files = file;
}

void FileAccounting::DrainDeferred() {
  while (deferred_files != nullptr) {
    File* const file = deferred_files;
    deferred_files = file->next_deferred_;
    file->accounting_.Finish(file);
  }
}

void FileAccounting::Finish(File* file) {
  if (file->HasMode(kFileOpened)) {
    if (!file->HasMode(kFilePathOnly)) {
      counters_.Add(Counter::kCloseEvents, 1);
      if (file->inode().IsSynthetic())
        file->inode().synthetic_file().Release(*file);
    }
    if (file->HasMode(kFileRead) && linux_abi::IsFifo(file->inode().mode()))
      file->inode().AddFifoReaders(-1);
    if (file->HasMode(kFileWriter)) file->path().mount->DropWrite();
    file->TakePath().Reset();
  }
  if (hooks_ != nullptr) hooks_->FileFree();
  if (!file->HasMode(kFileNoAccount)) counters_.Add(Counter::kNrFiles, -1);
#ifdef VFSD_BLOCKS_STAY_BLOCKS
  delete file;
#else
  // A reader may be looking at it: see the head of file.h.
  file->private_data.reset();
  file->kept_opener_.reset();
  sync::RcuRetire(file,
                  [](void* retired) { delete static_cast<File*>(retired); });
#endif
}

}  // namespace vfsd::vfs
