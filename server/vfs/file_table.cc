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

Result<FileTable::Slot> FileTable::Reserve() {
  absl::MutexLock lock(&mu_);
  if (closed_) return Fail(Errno::kESTALE);
  if (reserved_ >= max_handles_) return Fail(Errno::kEMFILE);
  uint32_t index;
  if (!free_slots_.empty()) {
    index = free_slots_.back();
    free_slots_.pop_back();
  } else if (slots_made_ < max_handles_) {
    index = slots_made_++;
    if (index % kChunkSlots == 0) {
      // release: the chunk is initialized before a handle leads to it.
      chunks_[index / kChunkSlots].store(std::make_unique<Chunk>().release(),
                                         std::memory_order_release);
    }
  } else {
    return Fail(Errno::kEMFILE);  // the rest of the slots are used up for good
  }
  ++reserved_;
  return Slot{index};
}

void FileTable::Cancel(Slot slot) {
  absl::MutexLock lock(&mu_);
  free_slots_.push_back(slot.index);
  --reserved_;
}

void FileTable::FreeSlot(uint32_t index) {
  --reserved_;
  if (SlotAt(index).generation < generations_) free_slots_.push_back(index);
}

Handle FileTable::Install(Slot slot, File* file) {
  SlotState& state = SlotAt(slot.index);
  // The slot is ours until it is published.
  const uint32_t generation = state.generation++;
  file->generation = generation;
  open_handles_.fetch_add(1, std::memory_order_relaxed);
  bool closed;
  {
    absl::MutexLock lock(&mu_);
    closed = closed_;
    // release: who finds the file sees it whole.
    if (!closed) state.file.store(file, std::memory_order_release);
  }
  if (closed) {
    // The session ended meanwhile: the handle is born closed.
    open_handles_.fetch_sub(1, std::memory_order_relaxed);
    accounting_.Put(file);
  }
  return Encode(slot.index, generation);
}

Result<File*> FileTable::Find(Handle handle) const {
  assert(sync::InRcuReadSection());
  const Result<Decoded> decoded = Decode(handle);
  if (!decoded.has_value()) return Fail(decoded.error());
  File* const file =
      SlotAt(decoded->index).file.load(std::memory_order_acquire);
  if (file == nullptr || file->generation != decoded->generation)
    return Fail(Errno::kEBADF);
  return file;
}

Result<File*> FileTable::Pin(Handle handle) const {
  const sync::RcuReadSection section;
  Result<File*> file = Find(handle);
  if (file.has_value() && !(*file)->references.GetUnlessZero())
    return Fail(Errno::kEBADF);
  return file;
}

Result<PinnedPath> FileTable::PinPath(Handle handle,
                                      bool also_path_only) const {
  const Result<File*> file = Pin(handle);
  if (!file.has_value()) return Fail(file.error());
  const absl::Cleanup put = [this, &file] { accounting_.Put(*file); };
  if (!also_path_only && (*file)->HasMode(kFilePathOnly))
    return Fail(Errno::kEBADF);
  // The pinned file holds its path, also in a mount that is being unmounted or
  // is detached and gives no new references to walks.
  return PinnedPath::Share((*file)->path());
}

Errno FileTable::Close(Handle handle) {
  const Result<Decoded> decoded = Decode(handle);
  if (!decoded.has_value()) return decoded.error();
  File* file;
  {
    absl::MutexLock lock(&mu_);
    SlotState& state = SlotAt(decoded->index);
    file = state.file.load(std::memory_order_relaxed);
    if (file == nullptr || file->generation != decoded->generation)
      return Errno::kEBADF;
    state.file.store(nullptr, std::memory_order_release);
    FreeSlot(decoded->index);
  }
  open_handles_.fetch_sub(1, std::memory_order_relaxed);
  accounting_.Put(file);
  return Errno::kOk;
}

uint32_t FileTable::CloseAll() {
  uint32_t count = 0;
  uint32_t slots;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    slots = slots_made_;
  }
  for (uint32_t index = 0; index < slots; ++index) {
    File* file;
    {
      absl::MutexLock lock(&mu_);
      file = SlotAt(index).file.exchange(nullptr, std::memory_order_acq_rel);
      if (file != nullptr) FreeSlot(index);
    }
    if (file == nullptr) continue;
    ++count;
    open_handles_.fetch_sub(1, std::memory_order_relaxed);
    accounting_.Put(file);
  }
  return count;
}

}  // namespace vfsd::vfs
