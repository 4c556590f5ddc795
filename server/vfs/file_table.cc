#include "server/vfs/file_table.h"

#include <cassert>

#include "absl/cleanup/cleanup.h"
#include "server/sync/rcu.h"

namespace vfsd::vfs {
namespace {

constexpr int kEpochShift = 56;
constexpr int kCheckShift = 48;
constexpr uint64_t kBodyMask = (uint64_t{1} << kCheckShift) - 1;

// Tells handles that some vfsd made from numbers that somebody made up. Not
// secret: it must give the same result after a restart.
uint8_t CheckOf(uint8_t epoch, uint64_t body) {
  uint64_t mixed = (body ^ static_cast<uint64_t>(epoch) << kEpochShift) *
                   0x9E3779B97F4A7C15U;
  mixed ^= mixed >> 29;
  mixed *= 0xBF58476D1CE4E5B9U;
  return static_cast<uint8_t>(mixed >> 56);
}

}  // namespace

FileTable::FileTable(FileAccounting& accounting, uint8_t boot_epoch,
                     uint64_t salt, uint32_t max_handles, uint32_t generations)
    : accounting_(accounting),
      boot_epoch_(boot_epoch),
      salt_(salt & kBodyMask),
      max_handles_(std::min(max_handles, kMaxSlots)),
      generations_(std::min(generations, kMaxGenerations)),
      free_(max_handles_),
      chunks_(std::make_unique<std::atomic<Chunk*>[]>(
          (max_handles_ + kChunkSlots - 1) / kChunkSlots)) {
  assert(boot_epoch_ != 0);
}

FileTable::~FileTable() {
  for (uint32_t i = 0; i < (max_handles_ + kChunkSlots - 1) / kChunkSlots;
       ++i) {
    std::unique_ptr<Chunk>(chunks_[i].load(std::memory_order_relaxed)).reset();
  }
}

FileTable::SlotState& FileTable::SlotAt(uint32_t index) const {
  return (*chunks_[index / kChunkSlots].load(
      std::memory_order_acquire))[index % kChunkSlots];
}

Handle FileTable::Encode(uint32_t index, uint32_t generation) const {
  const uint64_t body =
      ((static_cast<uint64_t>(generation) << kSlotBits) | index) ^ salt_;
  return static_cast<uint64_t>(boot_epoch_) << kEpochShift |
         static_cast<uint64_t>(CheckOf(boot_epoch_, body)) << kCheckShift |
         body;
}

Result<FileTable::Decoded> FileTable::Decode(Handle handle) const {
  const auto epoch = static_cast<uint8_t>(handle >> kEpochShift);
  const auto check = static_cast<uint8_t>(handle >> kCheckShift);
  const uint64_t body = handle & kBodyMask;
  if (epoch == 0 || check != CheckOf(epoch, body)) return Fail(Errno::kEBADF);
  if (epoch != boot_epoch_) return Fail(Errno::kESTALE);
  const uint64_t plain = body ^ salt_;
  const Decoded decoded{static_cast<uint32_t>(plain & (kMaxSlots - 1)),
                        static_cast<uint32_t>(plain >> kSlotBits)};
  if (decoded.index >= max_handles_ ||
      chunks_[decoded.index / kChunkSlots].load(std::memory_order_acquire) ==
          nullptr) {
    return Fail(Errno::kEBADF);
  }
  return decoded;
}

Errno FileTable::CheckRoom() const {
  // relaxed: whoever fills the table or closes it at the same time may as well
  // have come before or after.
  if (closed_.load(std::memory_order_relaxed)) [[unlikely]]
    return Errno::kESTALE;
  if (free_.load(std::memory_order_relaxed) == 0) [[unlikely]]
    return Errno::kEMFILE;
  return Errno::kOk;
}

Result<uint32_t> FileTable::TakeSlot() {
  const Errno error = CheckRoom();
  if (error != Errno::kOk) return Fail(error);
  // The lock is held: no read-modify-write is needed.
  free_.store(free_.load(std::memory_order_relaxed) - 1,
              std::memory_order_relaxed);
  if (!free_slots_.empty()) {
    const uint32_t index = free_slots_.back();
    free_slots_.pop_back();
    return index;
  }
  const uint32_t index = slots_made_++;
  if (index % kChunkSlots == 0) {
    // release: the chunk is initialized before a handle leads to it.
    chunks_[index / kChunkSlots].store(std::make_unique<Chunk>().release(),
                                       std::memory_order_release);
  }
  return index;
}

void FileTable::GiveBackSlot(uint32_t index) {
  free_slots_.push_back(index);
  free_.store(free_.load(std::memory_order_relaxed) + 1,
              std::memory_order_relaxed);
}

void FileTable::FreeSlot(uint32_t index) {
  accounting_.CountHandles(-1);
  if (SlotAt(index).uses.load(std::memory_order_relaxed) < generations_) {
    GiveBackSlot(index);
  } else {
    worn_out_.store(worn_out_.load(std::memory_order_relaxed) + 1,
                    std::memory_order_relaxed);
  }
}

Handle FileTable::Publish(uint32_t index, File* file) {
  SlotState& state = SlotAt(index);
  const uint32_t generation = state.uses.load(std::memory_order_relaxed);
  state.uses.store(generation + 1, std::memory_order_relaxed);
  accounting_.CountHandles(1);
  // release: pairs with Look's acquire; the file is visible whole.
  state.file.store(file, std::memory_order_release);
  return Encode(index, generation);
}

Result<Handle> FileTable::Add(File* file) {
  const sync::SpinLockHolder lock(&mu_);
  const Result<uint32_t> index = TakeSlot();
  if (!index.has_value()) return Fail(index.error());
  return Publish(*index, file);
}

Result<FileTable::Slot> FileTable::Reserve() {
  const sync::SpinLockHolder lock(&mu_);
  const Result<uint32_t> index = TakeSlot();
  if (!index.has_value()) return Fail(index.error());
  return Slot{*index};
}

void FileTable::Cancel(Slot slot) {
  const sync::SpinLockHolder lock(&mu_);
  GiveBackSlot(slot.index);
}

Handle FileTable::Install(Slot slot, File* file) {
  Handle handle;
  {
    const sync::SpinLockHolder lock(&mu_);
    handle = Publish(slot.index, file);
    if (!closed_.load(std::memory_order_relaxed)) [[likely]]
      return handle;
    // The session ended meanwhile: the handle is born closed.
    SlotAt(slot.index).file.store(nullptr, std::memory_order_relaxed);
    FreeSlot(slot.index);
  }
  std::atomic_thread_fence(std::memory_order_release);  // as in Close
  accounting_.Put(file);
  return handle;
}

Result<FileTable::FileView> FileTable::Look(Handle handle) const {
  assert(sync::InRcuReadSection());
  const Result<Decoded> decoded = Decode(handle);
  if (!decoded.has_value()) return Fail(decoded.error());
  const SlotState& slot = SlotAt(decoded->index);
  const uint32_t uses = decoded->generation + 1;
  // acquire: pairs with Publish's store.
  const File* const file = slot.file.load(std::memory_order_acquire);
  if (file == nullptr || slot.uses.load(std::memory_order_relaxed) != uses)
    return Fail(Errno::kEBADF);
  const FileView view{file->path(), file->flags(), file->opener()};
  // The file may have been closed and its memory made another file meanwhile.
  // acquire fence: if anything of that was read, what Close wrote before is
  // seen now. A slot never holds a file again for the same use.
  sync::ReadFence();
  // acquire: of the slot's next use, which comes with the same file's memory,
  // the new number of uses is seen.
  if (slot.file.load(std::memory_order_acquire) != file ||
      slot.uses.load(std::memory_order_relaxed) != uses) {
    return Fail(Errno::kEBADF);
  }
  return view;
}

File* FileTable::FindLocked(const Decoded& decoded) const {
  const SlotState& slot = SlotAt(decoded.index);
  // relaxed: all who write it hold the lock.
  File* const file = slot.file.load(std::memory_order_relaxed);
  if (slot.uses.load(std::memory_order_relaxed) != decoded.generation + 1)
    return nullptr;
  return file;
}

Result<File*> FileTable::Pin(Handle handle) const {
  const Result<Decoded> decoded = Decode(handle);
  if (!decoded.has_value()) return Fail(decoded.error());
  // The lock keeps the slot's reference.
  const sync::SpinLockHolder lock(&mu_);
  File* const file = FindLocked(*decoded);
  if (file == nullptr) return Fail(Errno::kEBADF);
  file->references.Get();
  return file;
}

Result<PinnedPath> FileTable::PinPath(Handle handle, bool also_path_only,
                                      uint32_t* flags) const {
  assert(!sync::InRcuReadSection());
  const Result<File*> file = Pin(handle);
  if (!file.has_value()) return Fail(file.error());
  const absl::Cleanup put = [this, &file] { accounting_.Put(*file); };
  if (!also_path_only && (*file)->HasMode(kFilePathOnly))
    return Fail(Errno::kEBADF);
  if (flags != nullptr) *flags = (*file)->flags();
  // The pinned file holds its path, also in a mount that is being unmounted or
  // is detached and gives no new references to walks.
  return PinnedPath::Share((*file)->path());
}

Errno FileTable::Close(Handle handle) {
  const Result<Decoded> decoded = Decode(handle);
  if (!decoded.has_value()) return decoded.error();
  File* file;
  bool only;
  {
    sync::SpinLockHolder lock(&mu_);
    file = FindLocked(*decoded);
    if (file == nullptr) return Errno::kEBADF;
    SlotAt(decoded->index).file.store(nullptr, std::memory_order_relaxed);
    FreeSlot(decoded->index);
    // Nobody can pin it any more: only who did so before has a reference.
    only = file->references.IsOnly();
  }
  // release: who reads what the file's memory is used for next sees the slot
  // empty.
  std::atomic_thread_fence(std::memory_order_release);
  if (only) {
    accounting_.PutOnly(file);
  } else {
    accounting_.Put(file);
  }
  return Errno::kOk;
}

uint32_t FileTable::CloseAll() {
  uint32_t count = 0;
  uint32_t slots;
  {
    sync::SpinLockHolder lock(&mu_);
    closed_.store(true, std::memory_order_relaxed);
    slots = slots_made_;
  }
  for (uint32_t index = 0; index < slots; ++index) {
    File* file;
    {
      sync::SpinLockHolder lock(&mu_);
      file = SlotAt(index).file.load(std::memory_order_relaxed);
      if (file != nullptr) {
        SlotAt(index).file.store(nullptr, std::memory_order_relaxed);
        FreeSlot(index);
      }
    }
    std::atomic_thread_fence(std::memory_order_release);  // as in Close
    if (file == nullptr) continue;
    ++count;
    accounting_.Put(file);
  }
  return count;
}

}  // namespace vfsd::vfs
