// FileTable: a session's handles and the open files behind them.
//
// Handle layout, from the top: boot epoch (8 bits, never 0), check (8 bits over
// epoch and the rest), generation and slot (28 and 20 bits) salted with the
// session's own secret. So a handle of another session decodes to something
// that is not there (EBADF), one from before a restart is told apart (ESTALE),
// and no number is ever valid for two files: a slot whose generations are used
// up is not used again.
//
// Thread safety: all members from any thread. Look in an RCU read section,
// which keeps what it returns; Pin keeps the file itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/result.h"
#include "server/sync/spin_lock.h"
#include "server/vfs/file.h"
#include "server/vfs/operation.h"

namespace vfsd::vfs {

class FileTable {
 public:
  static constexpr uint32_t kMaxSlots = 1U << 20;

  static constexpr uint32_t kMaxGenerations = 1U << 28;

  // max_handles: 1 to kMaxSlots. generations: how often a slot may be used, up
  // to kMaxGenerations (tests cannot use one that often).
  FileTable(FileAccounting& accounting, uint8_t boot_epoch, uint64_t salt,
            uint32_t max_handles, uint32_t generations = kMaxGenerations);
  // REQUIRES: CloseAll was called.
  ~FileTable();

  // kOk: Add would have found a slot. EMFILE at max_handles; ESTALE once
  // CloseAll began. Takes no lock and writes nothing.
  Errno CheckRoom() const;
  // A handle for the file: takes over the caller's reference, unless it fails
  // (EMFILE or ESTALE, as CheckRoom).
  Result<Handle> Add(File* file);

  // The same in two steps, for who must not fail any more once the file is
  // open. A slot that is reserved and not yet a handle: get_unused_fd_flags().
  struct Slot {
    uint32_t index;
  };
  // EMFILE or ESTALE, as CheckRoom.
  Result<Slot> Reserve();
  // put_unused_fd().
  void Cancel(Slot slot);
  // fd_install(): takes over the caller's reference.
  Handle Install(Slot slot, File* file);

  // What an open file is, without a reference.
  struct FileView {
    PathView path;
    uint32_t flags;
    const Credentials* opener;
  };
  // In an RCU read section, without a lock or a write. EBADF or ESTALE.
  Result<FileView> Look(Handle handle) const;
  // A reference, to be given back with FileAccounting::Put.
  Result<File*> Pin(Handle handle) const;

  // References to what the file is open on, of the caller's own. EBADF (also
  // for O_PATH handles unless `also_path_only`) or ESTALE. Not in an RCU read
  // section. flags, unless null: what it was opened with.
  Result<PinnedPath> PinPath(Handle handle, bool also_path_only,
                             uint32_t* flags = nullptr) const;

  // filp_close(). EBADF or ESTALE.
  Errno Close(Handle handle);
  // Closes everything, and refuses new reservations from now on. Returns how
  // many were open.
  uint32_t CloseAll();

  // Handles, and slots that are reserved for one.
  uint32_t open_handles() const {
    return max_handles_ - free_.load(std::memory_order_relaxed) -
           worn_out_.load(std::memory_order_relaxed);
  }
  uint32_t max_handles() const { return max_handles_; }

 private:
  static constexpr uint32_t kSlotBits = 20;
  // Slots come in chunks that never move, so that readers need no lock.
  static constexpr uint32_t kChunkSlots = 256;

  struct SlotState {
    std::atomic<File*> file{nullptr};
    // How often it was used: the current use's generation and one more. Written
    // by whoever reserved the slot; read by all.
    std::atomic<uint32_t> uses{0};
  };
  using Chunk = std::array<SlotState, kChunkSlots>;

  SlotState& SlotAt(uint32_t index) const;
  Handle Encode(uint32_t index, uint32_t generation) const;
  // EBADF or ESTALE; else slot and generation.
  struct Decoded {
    uint32_t index;
    uint32_t generation;
  };
  Result<Decoded> Decode(Handle handle) const;
  File* FindLocked(const Decoded& decoded) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Result<uint32_t> TakeSlot() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of a slot that was not used after all.
  void GiveBackSlot(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of a handle that was installed.
  void FreeSlot(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Handle Publish(uint32_t index, File* file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  FileAccounting& accounting_;
  const uint8_t boot_epoch_;
  const uint64_t salt_;
  const uint32_t max_handles_;
  const uint32_t generations_;

  mutable sync::SpinLock mu_;
  // Written under mu_, read without it by CheckRoom and open_handles: CloseAll
  // has begun; slots that can be had; slots whose generations are used up.
  std::atomic<bool> closed_{false};
  std::atomic<uint32_t> free_;
  std::atomic<uint32_t> worn_out_{0};
  uint32_t slots_made_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<uint32_t> free_slots_ ABSL_GUARDED_BY(mu_);
  // Chunk i holds slots i * kChunkSlots …; published with release.
  std::unique_ptr<std::atomic<Chunk*>[]> chunks_;
};

}  // namespace vfsd::vfs
