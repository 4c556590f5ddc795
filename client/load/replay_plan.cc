#include "client/load/replay_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "client/lib/errno_table.h"
#include "client/lib/path.h"
#include "client/load/trace_processes.h"

namespace vfsload {
namespace {

constexpr uint32_t kFormat = 0170000, kDirectory = 0040000, kRegular = 0100000,
                   kSymlinkFormat = 0120000;
constexpr uint64_t kOpenCreate = 0100, kExcl = 0200, kDirectoryFlag = 0200000,
                   kNoFollow = 0400000, kCloseOnExec = 02000000,
                   kTemporary = 020000000;
constexpr uint64_t kAtNoFollow = 0x100, kAtRemoveDirectory = 0x200,
                   kAtFollow = 0x400, kEmptyPath = 0x1000;
constexpr uint64_t kExecuteAccess = 1;

enum class Kind {
  kOpen,
  kOpenHow,  // openat2: flags in a structure
  kCreat,
  kStat,
  kLstat,
  kStatHandle,
  kAccess,
  kExecute,
  kEnter,  // chdir
  kEnterHandle,
  kReadLink,
  kList,
  kMakeDirectory,
  kMakeNode,
  kUnlink,
  kRemoveDirectory,
  kRename,
  kSymlink,
  kLink,
  kMode,
  kModeHandle,
  kOwner,
  kLinkOwner,
  kOwnerHandle,
  kSize,
  kSizeHandle,
  kTimes,
  kFileSystem,
  kFileSystemHandle,
};

// Where a call's arguments are; -1: it has none of that kind.
struct Row {
  std::string_view name;
  Kind kind;
  int directory = -1;
  int path = -1;
  int flags = -1;
  int mode = -1;  // mode, mask or size
  // Of those that take two paths.
  int directory2 = -1;
  int path2 = -1;
};

constexpr auto kRows = std::to_array<Row>({
    {"open", Kind::kOpen, -1, 0, 1, 2},
    {"openat", Kind::kOpen, 0, 1, 2, 3},
    {"openat2", Kind::kOpenHow, 0, 1, 2},
    {"creat", Kind::kCreat, -1, 0, -1, 1},
    {"stat", Kind::kStat, -1, 0},
    {"lstat", Kind::kLstat, -1, 0},
    {"fstat", Kind::kStatHandle, 0},
    {"newfstatat", Kind::kStat, 0, 1, 3},
    {"fstatat64", Kind::kStat, 0, 1, 3},
    {"statx", Kind::kStat, 0, 1, 2, 3},
    {"access", Kind::kAccess, -1, 0, -1, 1},
    {"faccessat", Kind::kAccess, 0, 1, -1, 2},
    {"faccessat2", Kind::kAccess, 0, 1, 3, 2},
    {"execve", Kind::kExecute, -1, 0},
    {"execveat", Kind::kExecute, 0, 1, 4},
    {"chdir", Kind::kEnter, -1, 0},
    {"fchdir", Kind::kEnterHandle, 0},
    {"readlink", Kind::kReadLink, -1, 0},
    {"readlinkat", Kind::kReadLink, 0, 1},
    {"getdents", Kind::kList, 0},
    {"getdents64", Kind::kList, 0},
    {"mkdir", Kind::kMakeDirectory, -1, 0, -1, 1},
    {"mkdirat", Kind::kMakeDirectory, 0, 1, -1, 2},
    {"mknod", Kind::kMakeNode, -1, 0, -1, 1},
    {"mknodat", Kind::kMakeNode, 0, 1, -1, 2},
    {"unlink", Kind::kUnlink, -1, 0},
    {"unlinkat", Kind::kUnlink, 0, 1, 2},
    {"rmdir", Kind::kRemoveDirectory, -1, 0},
    {"rename", Kind::kRename, -1, 0, -1, -1, -1, 1},
    {"renameat", Kind::kRename, 0, 1, -1, -1, 2, 3},
    {"renameat2", Kind::kRename, 0, 1, 4, -1, 2, 3},
    {"symlink", Kind::kSymlink, -1, 1, -1, 0},
    {"symlinkat", Kind::kSymlink, 1, 2, -1, 0},
    {"link", Kind::kLink, -1, 0, -1, -1, -1, 1},
    {"linkat", Kind::kLink, 0, 1, 4, -1, 2, 3},
    {"chmod", Kind::kMode, -1, 0, -1, 1},
    {"fchmodat", Kind::kMode, 0, 1, -1, 2},
    {"fchmodat2", Kind::kMode, 0, 1, 3, 2},
    {"fchmod", Kind::kModeHandle, 0, -1, -1, 1},
    {"chown", Kind::kOwner, -1, 0, -1, 1},
    {"lchown", Kind::kLinkOwner, -1, 0, -1, 1},
    {"fchownat", Kind::kOwner, 0, 1, 4, 2},
    {"fchown", Kind::kOwnerHandle, 0, -1, -1, 1},
    {"truncate", Kind::kSize, -1, 0, -1, 1},
    {"ftruncate", Kind::kSizeHandle, 0, -1, -1, 1},
    {"utime", Kind::kTimes, -1, 0},
    {"utimes", Kind::kTimes, -1, 0},
    {"futimesat", Kind::kTimes, 0, 1},
    {"utimensat", Kind::kTimes, 0, 1, 3},
    {"statfs", Kind::kFileSystem, -1, 0},
    {"fstatfs", Kind::kFileSystemHandle, 0},
});

// Calls that act on descriptors and not on names, or on neither.
constexpr std::string_view kContent =
    "content of files (vfsd holds none): read, write, mmap, seek ...";
constexpr std::string_view kDescriptors =
    "descriptors only, applied here: dup, fcntl, close of a shared file ...";
constexpr std::string_view kProcesses =
    "processes only, applied here: fork, exit, getcwd ...";
constexpr std::string_view kForeign =
    "a descriptor that the trace did not open (inherited, pipe, socket)";
constexpr std::string_view kOther = "calls that ask no file system";
constexpr std::string_view kShort = "a path that strace cut short (-s)";
constexpr std::string_view kNoAnswer = "not answered in the trace";
constexpr std::string_view kOddArguments = "arguments that cannot be read";
constexpr std::string_view kOddErrno = "an errno that has no number";

constexpr std::string_view kMachine =
    "an answer of the machine, not of the namespace: ENXIO, EINTR, EROFS ...";

// Of devices that are not there, signals, disks and limits.
constexpr auto kMachineErrors = std::to_array<std::string_view>(
    {"ENXIO", "ENODEV", "EINTR", "EAGAIN", "EROFS", "ENOSPC", "EDQUOT", "EIO",
     "EMFILE", "ENFILE", "ENOMEM", "ETXTBSY", "ENOEXEC", "ERESTARTSYS"});

constexpr auto kContentCalls = std::to_array<std::string_view>(
    {"read",      "pread64",    "readv",
     "preadv",    "preadv2",    "write",
     "pwrite64",  "writev",     "pwritev",
     "pwritev2",  "mmap",       "lseek",
     "fadvise64", "fsync",      "fdatasync",
     "fallocate", "sendfile",   "copy_file_range",
     "splice",    "readahead",  "sync_file_range",
     "flock",     "ioctl",      "fgetxattr",
     "fsetxattr", "flistxattr", "fremovexattr",
     "getxattr",  "lgetxattr",  "setxattr",
     "listxattr", "llistxattr", "removexattr"});
constexpr auto kProcessCalls =
    std::to_array<std::string_view>({"fork", "vfork", "clone", "clone3", "exit",
                                     "exit_group", "getcwd", "umask"});

template <size_t N>
bool Holds(const std::array<std::string_view, N>& names,
           std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// "…st_mode=S_IFREG|0644, …": 0 where it is not told.
uint32_t ModeHint(const Syscall& call) {
  for (const std::string& argument : call.arguments) {
    for (const std::string_view field : {"st_mode=", "stx_mode="}) {
      const size_t at = argument.find(field);
      if (at == std::string::npos) continue;
      std::string_view value =
          std::string_view(argument).substr(at + field.size());
      value = value.substr(0, value.find_first_of(",}"));
      auto mode = static_cast<uint32_t>(FlagsArgument(value));
      // Devices and the like need no being one to be asked about.
      const uint32_t format = mode & kFormat;
      if (format != kDirectory && format != kSymlinkFormat) {
        mode = kRegular | (mode & 07777);
      }
      return mode;
    }
  }
  return 0;
}

// A name in braces: "{flags=O_RDONLY, mode=0, resolve=0}".
std::string_view Field(std::string_view structure, std::string_view name) {
  const size_t at = structure.find(name);
  if (at == std::string_view::npos) return {};
  std::string_view value = structure.substr(at + name.size());
  return value.substr(0, value.find_first_of(",}"));
}

class Planner {
 public:
  Planner(const StraceLog& log, const std::string& root)
      : log_(log),
        root_(root),
        processes_(StartDirectory(),
                   [this](const TraceFile& file) { CloseFile(file); }) {}

  ReplayPlan Plan() {
    plan_.calls = log_.calls.size();
    learning_ = true;
    Play();
    plan_.operations.clear();
    plan_.left_out.clear();
    plan_.added.clear();
    plan_.replayed = 0;
    learning_ = false;
    tree_ = TraceTree();
    for (const auto& [path, target] : links_) tree_.LearnSymlink(path, target);
    Play();
    plan_.tree = tree_.Initial();
    return std::move(plan_);
  }

 private:
  // A path argument, found.
  struct Place {
    // As it is sent: below the root, or relative to `opener`'s file.
    std::string sent;
    std::optional<size_t> opener;
    // As the trace has it, absolute.
    std::string absolute;
    bool null = false;   // NULL
    bool empty = false;  // ""
  };

  // What the first process that tells its working directory started in: the
  // first getcwd before any chdir.
  std::string StartDirectory() const {
    for (const Syscall& call : log_.calls) {
      if (call.name == "getcwd" && call.result && *call.result > 0 &&
          !call.arguments.empty()) {
        if (auto path = StringArgument(call.arguments[0])) return *path;
      }
      if (call.name == "chdir" && call.result == 0) break;
    }
    return "/.vfsload-start-directory";
  }

  void Play() {
    processes_seen_.clear();
    for (const TraceEvent& event : log_.events) {
      switch (event.kind) {
        case TraceEvent::Kind::kBegin:
          Begin(event.call);
          break;
        case TraceEvent::Kind::kEnd:
          End(event.call);
          break;
        case TraceEvent::Kind::kExit:
          time_ = std::nullopt;
          closing_call_ = std::nullopt;
          processes_.Exit(event.pid);
          break;
      }
    }
    processes_.ExitAll();
    LeaveOut(kNoAnswer, log_.unanswered);
    plan_.processes = processes_seen_.size();
  }

  void LeaveOut(std::string_view reason, size_t count = 1) {
    if (count > 0) plan_.left_out[std::string(reason)] += count;
  }

  // What takes effect when a call begins: descriptors are free from then on,
  // and a child may run before its parent's call returns.
  void Begin(size_t index) {
    const Syscall& call = log_.calls[index];
    processes_seen_.insert(call.pid);
    time_ = call.time;
    if (Holds(kProcessCalls, call.name) && call.name != "getcwd" &&
        call.name != "umask" && call.result && *call.result > 0) {
      uint64_t flags = 0;
      for (const std::string& argument : call.arguments) {
        const size_t at = argument.find("flags=");
        if (at == std::string::npos) continue;
        std::string_view text = std::string_view(argument).substr(at + 6);
        flags = FlagsArgument(text.substr(0, text.find_first_of(",}")));
      }
      processes_.Fork(call.pid, static_cast<int>(*call.result),
                      (flags & 0x400) != 0, (flags & 0x200) != 0);
      return;
    }
    if (call.name == "close" && call.result && !call.arguments.empty()) {
      Close(index, call);
    } else if (call.name == "close_range" && call.result == 0 &&
               call.arguments.size() >= 2) {
      closing_call_ = std::nullopt;
      processes_.CloseRange(
          call.pid, static_cast<unsigned>(FlagsArgument(call.arguments[0])),
          call.arguments[1].starts_with('~')
              ? ~0u
              : static_cast<unsigned>(FlagsArgument(call.arguments[1])));
    }
  }

  void Close(size_t index, const Syscall& call) {
    const auto descriptor = DescriptorArgument(call.arguments[0]);
    if (!descriptor) return LeaveOut(kOddArguments);
    if (call.error == "EBADF") {
      vfs::v1::BatchOperation operation;
      operation.mutable_close()->set_handle(0);
      return Add(index, std::move(operation), std::nullopt);
    }
    closing_call_ = index;
    const size_t before = plan_.replayed;
    if (!processes_.Close(call.pid, *descriptor)) {
      LeaveOut(kForeign);
    } else if (plan_.replayed == before) {
      LeaveOut(kDescriptors);
    }
    closing_call_ = std::nullopt;
  }

  void CloseFile(const TraceFile& file) {
    ReplayOperation close;
    close.operation.mutable_close();
    close.uses = file.opener;
    close.time = time_;
    close.call = closing_call_;
    if (closing_call_) {
      ++plan_.replayed;
    } else {
      ++plan_.added
            ["closes at the end of a process, by exec, dup2 or "
             "close_range"];
    }
    plan_.operations.push_back(std::move(close));
  }

  void End(size_t index) {
    const Syscall& call = log_.calls[index];
    time_ = call.time;
    if (call.name == "close") {
      if (!call.result || call.arguments.empty()) LeaveOut(kNoAnswer);
      return;  // done when it began
    }
    const auto row = std::ranges::find(kRows, call.name, &Row::name);
    if (row != kRows.end()) {
      if (!call.result) return LeaveOut(kNoAnswer);
      if (Holds(kMachineErrors, call.error)) return LeaveOut(kMachine);
      return Ask(index, call, *row);
    }
    if (Holds(kProcessCalls, call.name)) return LeaveOut(kProcesses);
    if (Holds(kContentCalls, call.name)) return LeaveOut(kContent);
    if (Descriptors(call)) return LeaveOut(kDescriptors);
    LeaveOut(kOther);
  }

  // dup and its like. False: the call is none of them.
  bool Descriptors(const Syscall& call) {
    closing_call_ = std::nullopt;
    if (call.name == "close_range") return true;
    const bool control = call.name == "fcntl" || call.name == "fcntl64";
    if (!control && !call.name.starts_with("dup")) {
      return call.name.starts_with("pipe") || call.name == "poll" ||
             call.name.starts_with("pselect") || call.name == "ppoll";
    }
    if (call.arguments.empty() || !call.result || *call.result < 0) return true;
    const auto from = DescriptorArgument(call.arguments[0]);
    if (!from) return true;
    bool close_on_exec = false;
    if (control) {
      const std::string_view command = call.arguments.size() > 1
                                           ? std::string_view(call.arguments[1])
                                           : std::string_view();
      if (command == "F_SETFD") {
        processes_.SetCloseOnExec(
            call.pid, *from,
            call.arguments.size() > 2 &&
                (FlagsArgument(call.arguments[2]) & 1) != 0);
        return true;
      }
      if (!command.starts_with("F_DUPFD")) return true;
      close_on_exec = command == "F_DUPFD_CLOEXEC";
    } else if (call.name == "dup3" && call.arguments.size() > 2) {
      close_on_exec = (FlagsArgument(call.arguments[2]) & kCloseOnExec) != 0;
    }
    const int to = static_cast<int>(*call.result);
    if (to == *from) return true;
    if (const auto file = processes_.Find(call.pid, *from)) {
      processes_.Open(call.pid, to, file, close_on_exec);
    } else {
      processes_.Close(call.pid, to);
    }
    return true;
  }

  // Finds a path argument. False: it has been left out, with a reason.
  bool Find(const Syscall& call, int directory, int path, Place* place) {
    const auto has = [&](int i) {
      return i >= 0 && static_cast<size_t>(i) < call.arguments.size();
    };
    std::string text;
    if (!has(path)) return Refuse(kOddArguments);
    const std::string& argument = call.arguments[static_cast<size_t>(path)];
    if (argument == "NULL") {
      place->null = true;
    } else if (auto given = StringArgument(argument)) {
      text = *std::move(given);
      place->empty = text.empty();
    } else {
      return Refuse(argument.ends_with("...") ? kShort : kOddArguments);
    }
    std::shared_ptr<TraceFile> file;
    if (directory >= 0) {
      const auto descriptor =
          has(directory) ? DescriptorArgument(
                               call.arguments[static_cast<size_t>(directory)])
                         : std::nullopt;
      if (!descriptor) return Refuse(kOddArguments);
      if (*descriptor != kCurrentDirectory && !text.starts_with('/')) {
        file = processes_.Find(call.pid, *descriptor);
        if (!file) return Refuse(kForeign);
      }
    }
    const std::string& working = processes_.directory(call.pid);
    if (file) {
      place->opener = file->opener;
      place->sent = text;
      place->absolute = text.empty() ? file->path : file->path + "/" + text;
    } else if (text.starts_with('/')) {
      place->sent = root_ + text;
      place->absolute = text;
    } else if (text.empty()) {
      place->absolute = working;
    } else {
      place->absolute = working == "/" ? "/" + text : working + "/" + text;
      place->sent = root_ + place->absolute;
    }
    return true;
  }
  bool Refuse(std::string_view reason) {
    LeaveOut(reason);
    return false;
  }

  // The open file that a call names by its descriptor alone.
  std::shared_ptr<TraceFile> FindFile(const Syscall& call, int argument) {
    const auto descriptor =
        static_cast<size_t>(argument) < call.arguments.size()
            ? DescriptorArgument(call.arguments[static_cast<size_t>(argument)])
            : std::nullopt;
    if (!descriptor) {
      Refuse(kOddArguments);
      return nullptr;
    }
    auto file = processes_.Find(call.pid, *descriptor);
    if (!file) Refuse(kForeign);
    return file;
  }

  void Add(size_t index, vfs::v1::BatchOperation operation,
           std::optional<size_t> uses) {
    const Syscall& call = log_.calls[index];
    const vfsclient::ErrnoEntry* error = nullptr;
    if (!call.error.empty()) {
      error = vfsclient::FindErrno(std::string_view(call.error));
      if (error == nullptr) return LeaveOut(kOddErrno);
    }
    ReplayOperation add;
    add.operation = std::move(operation);
    add.uses = uses;
    add.expected_errno = error == nullptr ? 0 : error->number;
    add.time = call.time;
    add.call = index;
    plan_.operations.push_back(std::move(add));
    ++plan_.replayed;
  }

  // Something is there, or gone, that no call of the trace made or removed: a
  // process that was not traced, or calls that overlapped. The replay does it
  // where the trace shows it first.
  void AddAppearance(const std::string& canonical) {
    if (canonical.empty() || learning_) return;
    ReplayOperation make;
    const uint32_t mode = tree_.ModeOf(canonical);
    if ((mode & kFormat) == kDirectory) {
      auto* request = make.operation.mutable_make_directory();
      vfsclient::SetPath(root_ + canonical, request);
      request->set_mode(mode & 07777);
    } else {
      auto* request = make.operation.mutable_make_node();
      vfsclient::SetPath(root_ + canonical, request);
      request->set_mode(kRegular | (mode & 07777));
    }
    make.time = time_;
    plan_.operations.push_back(std::move(make));
    ++plan_.added["names that appear without a call of the trace"];
  }
  void AddDisappearance(const std::string& canonical, uint32_t mode) {
    if (canonical.empty() || learning_) return;
    ReplayOperation remove;
    auto* request = remove.operation.mutable_unlink();
    vfsclient::SetPath(root_ + canonical, request);
    if ((mode & kFormat) == kDirectory) {
      request->set_flags(static_cast<uint32_t>(kAtRemoveDirectory));
    }
    remove.time = time_;
    plan_.operations.push_back(std::move(remove));
    ++plan_.added["names that disappear without a call of the trace"];
  }

  // What an answer about a path tells of the namespace before it.
  void See(const Syscall& call, const Place& place, bool follow,
           uint32_t mode = 0) {
    if (place.null || place.empty) {
      if (place.opener && *call.result >= 0) Hint(place.absolute, mode);
      return;
    }
    if (*call.result >= 0 || call.error == "EEXIST" || call.error == "EINVAL" ||
        call.error == "ENOTEMPTY" || call.error == "EISDIR") {
      AddAppearance(tree_.SeePresent(place.absolute, follow, mode));
    } else if (call.error == "ENOENT") {
      const uint32_t was =
          tree_.ModeOf(tree_.Canonical(place.absolute, follow));
      AddDisappearance(tree_.SeeMissing(place.absolute, follow), was);
    } else if (call.error == "ENOTDIR") {
      const size_t slash = place.absolute.rfind('/');
      if (slash != std::string::npos && slash > 0) {
        tree_.SeePresent(place.absolute.substr(0, slash), true,
                         kRegular | 0644);
      }
    }
  }
  // What the attributes of an open file tell of its name.
  void Hint(const std::string& path, uint32_t mode) {
    if (mode != 0 && tree_.IsPresent(path, true)) {
      tree_.SeePresent(path, true, mode);
    }
  }

  static uint64_t Flags(const Syscall& call, int argument) {
    return argument >= 0 &&
                   static_cast<size_t>(argument) < call.arguments.size()
               ? FlagsArgument(call.arguments[static_cast<size_t>(argument)])
               : 0;
  }

  void Ask(size_t index, const Syscall& call, const Row& row) {
    vfs::v1::BatchOperation operation;
    // Those that name an open file by its descriptor alone.
    switch (row.kind) {
      case Kind::kStatHandle:
      case Kind::kEnterHandle:
      case Kind::kList:
      case Kind::kModeHandle:
      case Kind::kOwnerHandle:
      case Kind::kSizeHandle:
      case Kind::kFileSystemHandle:
        return AskHandle(index, call, row);
      default:
        break;
    }
    Place place;
    if (!Find(call, row.directory, row.path, &place)) return;
    const bool done = *call.result >= 0;
    const uint64_t flags = Flags(call, row.flags);
    const auto mode = static_cast<uint32_t>(Flags(call, row.mode));
    const auto set_path = [&](auto* request) {
      if (!place.null) vfsclient::SetPath(place.sent, request);
    };
    switch (row.kind) {
      case Kind::kOpen:
      case Kind::kOpenHow:
      case Kind::kCreat:
        return Open(index, call, row, place);
      case Kind::kStat:
      case Kind::kLstat: {
        auto* stat = operation.mutable_stat();
        set_path(stat);
        const uint64_t all = row.kind == Kind::kLstat ? kAtNoFollow : flags;
        stat->set_flags(static_cast<uint32_t>(all));
        stat->set_mask(
            row.mode >= 0 ? mode : uint32_t{vfs::v1::STATX_MASK_BASIC_STATS});
        See(call, place, (all & kAtNoFollow) == 0, ModeHint(call));
        break;
      }
      case Kind::kAccess:
      case Kind::kExecute:
      case Kind::kEnter: {
        const bool access = row.kind == Kind::kAccess;
        auto* request = operation.mutable_access();
        set_path(request);
        request->set_mode(access ? mode
                                 : static_cast<uint32_t>(kExecuteAccess));
        request->set_flags(access ? static_cast<uint32_t>(flags) : 0);
        See(call, place, (flags & kAtNoFollow) == 0,
            row.kind == Kind::kEnter ? kDirectory | 0755 : 0);
        if (done && row.kind == Kind::kExecute) {
          closing_call_ = std::nullopt;
          Add(index, std::move(operation), place.opener);
          return processes_.Exec(call.pid);
        }
        if (done && row.kind == Kind::kEnter) {
          processes_.SetDirectory(call.pid, place.absolute);
        }
        break;
      }
      case Kind::kReadLink:
        set_path(operation.mutable_read_link());
        if (done && learning_) {
          // The target may be cut short; where it leads then nobody knows.
          const size_t target = static_cast<size_t>(row.path) + 1;
          const auto text = target < call.arguments.size()
                                ? StringArgument(call.arguments[target])
                                : std::nullopt;
          if (!tree_.IsMade(place.absolute)) {
            tree_.LearnSymlink(place.absolute, text.value_or(""));
            links_.emplace_back(place.absolute, text.value_or(""));
          }
        }
        See(call, place, false, done ? kSymlinkFormat | 0777 : 0);
        break;
      case Kind::kMakeDirectory: {
        auto* request = operation.mutable_make_directory();
        set_path(request);
        request->set_mode(mode);
        if (done) {
          Made(place, kDirectory | (mode & 07777));
        } else {
          See(call, place, false);
        }
        break;
      }
      case Kind::kMakeNode: {
        auto* request = operation.mutable_make_node();
        set_path(request);
        request->set_mode(mode);
        if (done) {
          Made(place, mode);
        } else {
          See(call, place, false);
        }
        break;
      }
      case Kind::kUnlink:
      case Kind::kRemoveDirectory: {
        const bool directory = row.kind == Kind::kRemoveDirectory ||
                               (flags & kAtRemoveDirectory) != 0;
        auto* request = operation.mutable_unlink();
        set_path(request);
        if (directory) {
          request->set_flags(static_cast<uint32_t>(kAtRemoveDirectory));
        }
        See(call, place, false, directory ? kDirectory | 0755 : 0);
        if (done) tree_.Remove(place.absolute);
        break;
      }
      case Kind::kRename:
      case Kind::kLink: {
        Place to;
        if (!Find(call, row.directory2, row.path2, &to)) return;
        if (place.null || to.null || place.empty || to.empty) {
          return LeaveOut(kOddArguments);
        }
        // Both as paths below the root: the two may start at two handles.
        const std::string from_path = root_ + place.absolute;
        const std::string to_path = root_ + to.absolute;
        place.opener = std::nullopt;
        See(call, place, (flags & kAtFollow) != 0 && row.kind == Kind::kLink);
        if (row.kind == Kind::kRename) {
          auto* request = operation.mutable_rename();
          vfsclient::SetOldPath(from_path, request);
          vfsclient::SetNewPath(to_path, request);
          request->set_flags(static_cast<uint32_t>(flags));
          if (done) tree_.Rename(place.absolute, to.absolute);
        } else {
          auto* request = operation.mutable_make_link();
          request->set_raw_old_path(from_path);
          request->set_raw_new_path(to_path);
          request->set_flags(static_cast<uint32_t>(flags));
          if (done) {
            Made(to, tree_.ModeOf(tree_.Canonical(place.absolute, false)));
          }
        }
        break;
      }
      case Kind::kSymlink: {
        const auto target =
            StringArgument(call.arguments[static_cast<size_t>(row.mode)]);
        if (!target) return LeaveOut(kShort);
        auto* request = operation.mutable_make_symlink();
        set_path(request);
        request->set_raw_target(target->starts_with('/') ? root_ + *target
                                                         : *target);
        if (done) {
          AddDisappearanceOf(place.absolute);
          tree_.Make(place.absolute, kSymlinkFormat | 0777, *target);
        } else {
          See(call, place, false);
        }
        break;
      }
      case Kind::kMode:
      case Kind::kOwner:
      case Kind::kLinkOwner:
      case Kind::kSize:
      case Kind::kTimes: {
        auto* request = operation.mutable_set_attributes();
        set_path(request);
        const uint64_t all = row.kind == Kind::kLinkOwner ? kAtNoFollow : flags;
        request->set_flags(static_cast<uint32_t>(all));
        Change(call, row, request);
        See(call, place, (all & kAtNoFollow) == 0);
        break;
      }
      case Kind::kFileSystem:
        set_path(operation.mutable_stat_filesystem());
        See(call, place, true);
        break;
      default:
        break;
    }
    Add(index, std::move(operation), place.opener);
  }

  // What a call makes was not there before.
  void Made(const Place& place, uint32_t mode) {
    AddDisappearanceOf(place.absolute);
    tree_.Make(place.absolute, mode);
  }
  void AddDisappearanceOf(const std::string& path) {
    const uint32_t was = tree_.ModeOf(tree_.Canonical(path, false));
    AddDisappearance(tree_.SeeMissing(path, false), was);
  }

  static void Change(const Syscall& call, const Row& row,
                     vfs::v1::SetAttributesRequest* request) {
    const uint64_t value = Flags(call, row.mode);
    switch (row.kind) {
      case Kind::kMode:
      case Kind::kModeHandle:
        request->set_mode(static_cast<uint32_t>(value));
        break;
      case Kind::kSize:
      case Kind::kSizeHandle:
        request->set_size_bytes(static_cast<int64_t>(value));
        break;
      case Kind::kTimes:
        request->set_atime_seconds(0);
        request->set_mtime_seconds(0);
        request->set_atime_now(true);
        request->set_mtime_now(true);
        break;
      default: {
        request->set_change_owner(true);
        const auto group = static_cast<int>(row.mode + 1);
        // -1: as it is.
        const auto is_set = [&](int i) {
          return static_cast<size_t>(i) < call.arguments.size() &&
                 call.arguments[static_cast<size_t>(i)] != "-1";
        };
        if (is_set(row.mode)) request->set_uid(static_cast<uint32_t>(value));
        if (is_set(group)) {
          request->set_gid(static_cast<uint32_t>(Flags(call, group)));
        }
        break;
      }
    }
  }

  void AskHandle(size_t index, const Syscall& call, const Row& row) {
    const auto file = FindFile(call, row.directory);
    if (!file) return;
    vfs::v1::BatchOperation operation;
    switch (row.kind) {
      case Kind::kStatHandle: {
        auto* stat = operation.mutable_stat();
        stat->set_path("");
        stat->set_flags(static_cast<uint32_t>(kEmptyPath));
        stat->set_mask(vfs::v1::STATX_MASK_BASIC_STATS);
        Hint(file->path, ModeHint(call));
        break;
      }
      case Kind::kEnterHandle: {
        auto* access = operation.mutable_access();
        access->set_path("");
        access->set_mode(static_cast<uint32_t>(kExecuteAccess));
        access->set_flags(static_cast<uint32_t>(kEmptyPath));
        if (*call.result >= 0) processes_.SetDirectory(call.pid, file->path);
        break;
      }
      case Kind::kList:
        operation.mutable_read_directory();
        if (*call.result >= 0) Hint(file->path, kDirectory | 0755);
        break;
      case Kind::kFileSystemHandle:
        operation.mutable_stat_filesystem();
        break;
      default:
        Change(call, row, operation.mutable_set_attributes());
        break;
    }
    Add(index, std::move(operation), file->opener);
  }

  void Open(size_t index, const Syscall& call, const Row& row,
            const Place& place) {
    vfs::v1::BatchOperation operation;
    auto* open = operation.mutable_open();
    if (!place.null) vfsclient::SetPath(place.sent, open);
    uint64_t flags = Flags(call, row.flags);
    uint64_t mode = Flags(call, row.mode);
    if (row.kind == Kind::kCreat) flags = 01 | kOpenCreate | 01000;
    if (row.kind == Kind::kOpenHow) {
      const std::string& how =
          call.arguments[std::min<size_t>(2, call.arguments.size() - 1)];
      flags = FlagsArgument(Field(how, "flags="));
      mode = FlagsArgument(Field(how, "mode="));
      open->set_resolve(FlagsArgument(Field(how, "resolve=")));
    }
    open->set_flags(static_cast<uint32_t>(flags));
    open->set_mode(static_cast<uint32_t>(mode));

    const bool temporary = (flags & kTemporary) == kTemporary;
    const bool follow =
        (flags & kNoFollow) == 0 &&
        (flags & (kOpenCreate | kExcl)) != (kOpenCreate | kExcl);
    const bool done = *call.result >= 0;
    const uint32_t hint = (flags & kDirectoryFlag) != 0 ? kDirectory | 0755 : 0;
    if (done && (flags & kOpenCreate) != 0 && !temporary) {
      if ((flags & kExcl) != 0 || !tree_.IsPresent(place.absolute, follow)) {
        Made(place, kRegular | (static_cast<uint32_t>(mode) & 07777));
      }
    } else {
      See(call, place, follow, hint);
    }
    const size_t operation_index = plan_.operations.size();
    const size_t before = plan_.replayed;
    Add(index, std::move(operation), place.opener);
    if (!done || plan_.replayed == before) return;
    auto file = std::make_shared<TraceFile>();
    file->opener = operation_index;
    file->path = place.absolute;
    closing_call_ = std::nullopt;
    processes_.Open(call.pid, static_cast<int>(*call.result), std::move(file),
                    (flags & kCloseOnExec) != 0);
  }

  const StraceLog& log_;
  const std::string& root_;
  TraceProcesses processes_;
  TraceTree tree_;
  ReplayPlan plan_;
  std::set<int> processes_seen_;
  // What the first pass learned: path and target.
  std::vector<std::pair<std::string, std::string>> links_;
  // The first of two passes, which only learns where links lead.
  bool learning_ = false;
  std::optional<double> time_;
  // The close call under way.
  std::optional<size_t> closing_call_;
};

}  // namespace

ReplayPlan ReplayPlan::Make(const StraceLog& log, const std::string& root) {
  return Planner(log, root).Plan();
}

}  // namespace vfsload
