#include "server/fs/proc/proc_file_system.h"

#include <cstdlib>
#include <utility>

#include "server/base/timestamp.h"
#include "server/vfs/linux_abi.h"
#include "server/vfs/namespace_link.h"
#include "server/vfs/new_inode.h"
#include "spdlog/spdlog.h"

namespace vfsd::proc {
namespace {

constexpr vfs::FileSystemTraits kTraits = {
    .type_name = "proc",
    .magic = 0x9fa0,
    .block_size = 1024,  // as the kernel's proc
    .attributes_mask = 0,
    .has_birth_time = false,
    .directory_size_base = 0,
    .directory_size_per_entry = 0,
    .namespace_mutable = false,
};

// What the provider claims, as far as the registrant is believed.
uint8_t HeededFlags(const FileProvider& provider, bool may_be_permanent) {
  const uint8_t flags = provider.flags();
  return may_be_permanent ? flags
                          : static_cast<uint8_t>(flags & ~kProviderPermanent);
}

bool IsValidName(std::string_view name) {
  return !name.empty() && name.size() <= vfs::linux_abi::kNameMax &&
         name != "." && name != ".." &&
         name.find('/') == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

// A file, or where that is null a directory.
vfs::PinnedInode MakeEntryInode(vfs::FileSystem& file_system,
                                const EntryAttributes& attributes,
                                std::unique_ptr<ProcFile> file) {
  const Timestamp now = Timestamp::Now();
  vfs::Inode::Init init;
  if (file == nullptr) {
    init = vfs::NewDirectory(file_system, attributes.permissions, now);
  } else {
    init.mode = vfs::linux_abi::kSIfreg |
                (attributes.permissions & vfs::linux_abi::kPermissionBits);
    init.ino = file_system.NextInodeNumber();
    init.atime = init.mtime = init.ctime = now;
  }
  init.uid = attributes.uid;
  init.gid = attributes.gid;
  init.synthetic = std::move(file);
  return vfs::MakeInode(std::move(init));
}

}  // namespace

ProcFileSystem::ProcFileSystem(vfs::FastPaths& fast_paths,
                               std::vector<CoreFile> core_files,
                               ProcCounters* counters)
    : vfs::FileSystem(kTraits), fast_paths_(fast_paths), counters_(counters) {
  vfs::PinnedInode root = MakeEntryInode(*this, {.permissions = 0555}, nullptr);
  root_entry_.reset(new ProcEntry("", 0, ProcEntry::DirectoryContent{},
                                  vfs::PinnedInode::Share(*root)));
  SetRoot(std::move(root));
  for (CoreFile& file : core_files) RegisterCoreFile(std::move(file));
}

ProcFileSystem::~ProcFileSystem() = default;

void ProcFileSystem::RegisterCoreFile(CoreFile file) {
  std::string_view rest = file.path;
  ProcEntryRef directory = root_entry_;
  for (size_t slash = rest.find('/'); slash != std::string_view::npos;
       slash = rest.find('/')) {
    const std::string_view name = rest.substr(0, slash);
    ProcEntryRef next = Find(directory, name);
    if (next == nullptr) {
      next = Register(directory, name, {.permissions = 0555}, DirectorySpec{},
                      Registrant::kCoreTable)
                 .value_or(nullptr);
    }
    if (next == nullptr) break;
    directory = std::move(next);
    rest.remove_prefix(slash + 1);
  }
  const Result<ProcEntryRef> entry =
      Register(directory, rest, file.attributes,
               FileSpec{std::move(file.provider)}, Registrant::kCoreTable);
  if (!entry.has_value()) {
    spdlog::critical("proc: cannot register the core file \"{}\": {}",
                     file.path, ErrnoName(entry.error()));
    std::abort();
  }
}

Result<ProcEntryRef> ProcFileSystem::AddDirectory(
    const ProcEntryRef& parent, std::string_view name,
    const EntryAttributes& attributes) {
  return Register(parent, name, attributes, DirectorySpec{},
                  Registrant::kAnybody);
}

Result<ProcEntryRef> ProcFileSystem::AddFile(
    const ProcEntryRef& parent, std::string_view name,
    const EntryAttributes& attributes, std::unique_ptr<FileProvider> provider) {
  return Register(parent, name, attributes, FileSpec{std::move(provider)},
                  Registrant::kAnybody);
}

Result<ProcEntryRef> ProcFileSystem::Register(const ProcEntryRef& parent,
                                              std::string_view name,
                                              const EntryAttributes& attributes,
                                              ContentSpec content,
                                              Registrant registrant) {
  if (!IsValidName(name)) return Fail(Errno::kEINVAL);
  ProcEntryRef entry;
  if (auto* spec = std::get_if<FileSpec>(&content)) {
    const uint8_t flags =
        HeededFlags(*spec->provider, registrant == Registrant::kCoreTable);
    auto file = std::make_unique<ProcFile>(std::move(spec->provider), flags,
                                           fast_paths_, counters_);
    ProcFile* const view = file.get();
    entry.reset(
        new ProcEntry(std::string(name), flags, ProcEntry::FileContent{view},
                      MakeEntryInode(*this, attributes, std::move(file))));
  } else {
    entry.reset(new ProcEntry(std::string(name), 0,
                              ProcEntry::DirectoryContent{},
                              MakeEntryInode(*this, attributes, nullptr)));
  }

  ProcEntry& directory = *DirectoryOrRoot(parent);
  absl::MutexLock lock(&tree_mu_);
  auto* children =
      std::get_if<ProcEntry::DirectoryContent>(&directory.content_);
  if (children == nullptr) return Fail(Errno::kENOTDIR);
  if (directory.removed_) return Fail(Errno::kENOENT);
  if (!children->children.try_emplace(entry->name_, entry).second) {
    return Fail(Errno::kEEXIST);
  }
  // Published last: everything that a reader decides on is in place.
  const Errno error = vfs::CreateChild(*this, directory.inode(), name,
                                       vfs::PinnedInode::Share(entry->inode()));
  if (error != Errno::kOk) {
    children->children.erase(entry->name_);
    return Fail(error);
  }
  return entry;
}

ProcEntryRef ProcFileSystem::FindLocked(const ProcEntry& parent,
                                        std::string_view name) const {
  const auto* directory =
      std::get_if<ProcEntry::DirectoryContent>(&parent.content_);
  if (directory == nullptr) return nullptr;
  const auto it = directory->children.find(name);
  return it != directory->children.end() ? it->second : nullptr;
}

ProcEntryRef ProcFileSystem::Find(const ProcEntryRef& parent,
                                  std::string_view name) const {
  absl::ReaderMutexLock lock(&tree_mu_);
  return FindLocked(*DirectoryOrRoot(parent), name);
}

Errno ProcFileSystem::Refuse(std::string_view name, Errno error) {
  refused_removals_.Add(1);
  spdlog::warn(
      "proc: refused to remove \"{}\": it is permanent, or something below it",
      name);
  return error;
}

void ProcFileSystem::Detach(ProcEntry& parent, ProcEntry& entry) {
  entry.removed_ = true;
  vfs::RemoveTree(*this, parent.inode(), entry.name_);
  std::get<ProcEntry::DirectoryContent>(parent.content_)
      .children.erase(entry.name_);
}

Errno ProcFileSystem::Remove(const ProcEntryRef& parent,
                             std::string_view name) {
  const ProcEntryRef& directory = DirectoryOrRoot(parent);
  ProcEntryRef entry;
  {
    absl::MutexLock lock(&tree_mu_);
    entry = FindLocked(*directory, name);
    if (entry == nullptr) return Errno::kENOENT;
    if (entry->permanent()) return Refuse(name, Errno::kEPERM);
    const auto* content =
        std::get_if<ProcEntry::DirectoryContent>(&entry->content_);
    if (content != nullptr && !content->children.empty()) {
      return Errno::kENOTEMPTY;
    }
    Detach(*directory, *entry);
  }
  RunDown(*entry);
  return Errno::kOk;
}

std::vector<ProcFileSystem::Placed> ProcFileSystem::Collect(
    const ProcEntryRef& parent, const ProcEntryRef& entry) {
  std::vector<Placed> entries = {{parent, entry}};
  for (size_t i = 0; i < entries.size(); ++i) {
    const ProcEntryRef above = entries[i].entry;
    const auto* content =
        std::get_if<ProcEntry::DirectoryContent>(&above->content_);
    if (content == nullptr) continue;
    for (const auto& [name, child] : content->children) {
      entries.push_back({above, child});
    }
  }
  return entries;
}

Errno ProcFileSystem::RemoveSubtree(const ProcEntryRef& parent,
                                    std::string_view name) {
  const ProcEntryRef& directory = DirectoryOrRoot(parent);
  std::vector<Placed> entries;
  {
    absl::MutexLock lock(&tree_mu_);
    const ProcEntryRef top = FindLocked(*directory, name);
    if (top == nullptr) return Errno::kENOENT;
    entries = Collect(directory, top);
    // All before the first is touched: a refusal leaves the tree as it was.
    for (const Placed& placed : entries) {
      if (placed.entry->permanent()) return Refuse(name, Errno::kEINVAL);
    }
    // Children before their directories.
    for (auto it = entries.rbegin(); it != entries.rend(); ++it) {
      Detach(*it->parent, *it->entry);
    }
  }
  for (const Placed& placed : entries) RunDown(*placed.entry);
  return Errno::kOk;
}

void ProcFileSystem::RunDown(ProcEntry& entry) {
  if (auto* content = std::get_if<ProcEntry::FileContent>(&entry.content_)) {
    content->file->RunDown();
  }
}

}  // namespace vfsd::proc
