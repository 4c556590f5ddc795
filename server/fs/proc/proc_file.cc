#include "server/fs/proc/proc_file.h"

#include <cassert>
#include <utility>

namespace vfsd::proc {

ProcFile::Opener::Opener(vfs::File& of, ProcCounters* with)
    : file(of), counters(with) {
  if (counters != nullptr) counters->openers_allocated.Add(1);
}

ProcFile::Opener::~Opener() {
  if (counters != nullptr) counters->openers_freed.Add(1);
}

ProcFile::ProcFile(std::unique_ptr<FileProvider> provider, uint8_t flags,
                   vfs::FastPaths& fast_paths, ProcCounters* counters)
    : flags_(flags),
      fast_paths_(fast_paths),
      counters_(counters),
      provider_(std::move(provider)) {}

ProcFile::~ProcFile() {
  // relaxed: nobody else has the object any more.
  assert(opener_count_.load(std::memory_order_relaxed) == 0);
}

bool ProcFile::Use() {
  int32_t users = in_use_.load(std::memory_order_relaxed);
  do {
    if (users < 0) return false;
    // acquire: the hook comes after; pairs with nothing that a removal does
    // before its bias, but keeps the use inside the pair.
  } while (!in_use_.compare_exchange_weak(
      users, users + 1, std::memory_order_acquire, std::memory_order_relaxed));
  if (counters_ != nullptr) counters_->in_use_changes.Add(1);
  return true;
}

void ProcFile::Unuse() {
  if (counters_ != nullptr) counters_->in_use_changes.Add(1);
  // release: what the hook did comes before the end of the provider. acquire:
  // the notification hands over what all others inside did.
  if (in_use_.fetch_sub(1, std::memory_order_acq_rel) - 1 == kBias) {
    users_gone_.Notify();
  }
}

ProcFile::Opener* ProcFile::OpenerOf(vfs::File& file) const {
  if (!HasFlag(kProviderReleases)) return nullptr;
  if (!permanent()) return static_cast<Opener*>(file.private_data.get());
  // relaxed: a file with a record was handed to this thread after the record
  // was counted.
  if (opener_count_.load(std::memory_order_relaxed) == 0) return nullptr;
  return dynamic_cast<Opener*>(file.private_data.get());
}

OpenFile ProcFile::View(vfs::File& file) const {
  Opener* opener = OpenerOf(file);
  return {file, opener != nullptr ? opener->state : file.private_data};
}

Errno ProcFile::Open(vfs::File& file) {
  if (permanent()) {
    if (fast_paths_.enabled(vfs::FastPath::kPermanent)) {
      fast_paths_.CountHit(vfs::FastPath::kPermanent);
      return provider_->Open({file, file.private_data});
    }
    fast_paths_.CountGeneral(vfs::FastPath::kPermanent);
  }
  return OpenGuarded(file);
}

Errno ProcFile::OpenGuarded(vfs::File& file) {
  if (!Use()) return Errno::kENOENT;
  Errno error;
  if (!HasFlag(kProviderReleases)) {
    error = provider_->Open({file, file.private_data});
  } else {
    auto opener = std::make_unique<Opener>(file, counters_);
    error = provider_->Open({file, opener->state});
    if (error == Errno::kOk) {
      absl::MutexLock lock(&mu_);
      Link(*opener);
      file.private_data = std::move(opener);
    }
  }
  Unuse();
  return error;
}

Result<size_t> ProcFile::Read(vfs::File& file, uint64_t offset,
                              std::span<char> buffer) {
  if (offset != 0 && !seekable()) return Fail(Errno::kESPIPE);
  if (permanent()) {
    if (fast_paths_.enabled(vfs::FastPath::kPermanent)) {
      fast_paths_.CountHit(vfs::FastPath::kPermanent);
      return CallRead(View(file), offset, buffer);
    }
    fast_paths_.CountGeneral(vfs::FastPath::kPermanent);
  }
  if (!Use()) return Fail(Errno::kEIO);
  Result<size_t> result = CallRead(View(file), offset, buffer);
  Unuse();
  return result;
}

Result<size_t> ProcFile::CallRead(OpenFile open, uint64_t offset,
                                  std::span<char> buffer) {
  if (!HasFlag(kProviderReads)) return Fail(Errno::kEIO);
  return provider_->Read(open, offset, buffer);
}

void ProcFile::Release(vfs::File& file) {
  if (!HasFlag(kProviderReleases)) {
    // Nothing was made at open, whichever way that went.
    if (!permanent()) return;
    if (fast_paths_.enabled(vfs::FastPath::kPermanent)) {
      fast_paths_.CountHit(vfs::FastPath::kPermanent);
    } else {
      fast_paths_.CountGeneral(vfs::FastPath::kPermanent);
    }
    return;
  }
  Opener* opener = OpenerOf(file);
  if (opener == nullptr) {
    fast_paths_.CountHit(vfs::FastPath::kPermanent);
    provider_->Release({file, file.private_data});
    return;
  }
  if (permanent()) fast_paths_.CountGeneral(vfs::FastPath::kPermanent);
  absl::MutexLock lock(&mu_);
  if (!opener->closing) {
    Close(*opener);
  } else {
    // A removal was first: its call of the hook uses the file.
    mu_.Await(absl::Condition(&opener->closed));
  }
}

void ProcFile::RunDown() {
  assert(!permanent());
  // release: a Use that comes too late sees the entry as it was. acquire: the
  // end of the provider comes after everybody's use.
  const int32_t users = in_use_.fetch_add(kBias, std::memory_order_acq_rel);
  assert(users >= 0);
  if (users != 0) users_gone_.WaitForNotification();
  {
    // Opens fail by now, so the list only gets shorter.
    absl::MutexLock lock(&mu_);
    while (Opener* opener = FirstIdle()) Close(*opener);
    // What is left is being closed by its own closers.
    mu_.Await(absl::Condition(this, &ProcFile::NoOpeners));
  }
  provider_.reset();
}

void ProcFile::Link(Opener& opener) {
  opener.next = openers_;
  if (openers_ != nullptr) openers_->previous = &opener;
  openers_ = &opener;
  opener_count_.fetch_add(1, std::memory_order_relaxed);
}

void ProcFile::Unlink(Opener& opener) {
  (opener.previous != nullptr ? opener.previous->next : openers_) = opener.next;
  if (opener.next != nullptr) opener.next->previous = opener.previous;
  opener.previous = nullptr;
  opener.next = nullptr;
  opener_count_.fetch_sub(1, std::memory_order_relaxed);
}

void ProcFile::Close(Opener& opener) {
  opener.closing = true;
  mu_.Unlock();
  provider_->Release({opener.file, opener.state});
  mu_.Lock();
  // Only now: until the hook has returned, a removal must see that there is
  // somebody to wait for.
  Unlink(opener);
  opener.closed = true;
}

ProcFile::Opener* ProcFile::FirstIdle() const {
  Opener* opener = openers_;
  while (opener != nullptr && opener->closing) opener = opener->next;
  return opener;
}

}  // namespace vfsd::proc
