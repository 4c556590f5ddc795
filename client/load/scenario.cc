#include "client/load/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "client/lib/errno_table.h"
#include "client/lib/path.h"

namespace vfsload {
namespace {

using vfsclient::kENOENT;

// How many different paths a slot goes through: more than fit a cache line's
// worth of luck, few enough to prepare at once.
constexpr size_t kPaths = 256;
constexpr uint32_t kReadSize = 64 * 1024;
constexpr uint32_t kReadPermission = 4;  // R_OK

// Steps ---------------------------------------------------------------------

Step OpenStep(std::string_view path, uint32_t flags, int errno_code = 0,
              uint32_t mode = 0) {
  Step step;
  auto* open = step.operation.mutable_open();
  vfsclient::SetPath(path, open);
  open->set_flags(flags);
  open->set_mode(mode);
  step.expected.errno_code = errno_code;
  return step;
}

Step CloseStep(int opened_by) {
  Step step;
  step.operation.mutable_close();
  step.uses_step = opened_by;
  return step;
}

// Stat of an open file: with path "" or with none.
Step StatOpenStep(bool with_empty_path, const StatExpectation& expected) {
  Step step;
  auto* stat = step.operation.mutable_stat();
  if (with_empty_path) stat->set_path("");
  stat->set_flags(vfs::v1::AT_FLAG_AT_EMPTY_PATH);
  stat->set_mask(vfs::v1::STATX_MASK_BASIC_STATS);
  step.expected.stat = expected;
  return step;
}

Step StatPathStep(std::string_view path, uint32_t flags) {
  Step step;
  auto* stat = step.operation.mutable_stat();
  vfsclient::SetPath(path, stat);
  stat->set_flags(flags);
  stat->set_mask(vfs::v1::STATX_MASK_BASIC_STATS);
  return step;
}

Step AccessStep(std::string_view path, int errno_code) {
  Step step;
  auto* access = step.operation.mutable_access();
  vfsclient::SetPath(path, access);
  access->set_mode(kReadPermission);
  step.expected.errno_code = errno_code;
  return step;
}

Step ReadStep(int opened_by) {
  Step step;
  step.operation.mutable_read()->set_size(kReadSize);
  step.uses_step = opened_by;
  return step;
}

Step ReadDirectoryStep(const CatalogDirectory& directory) {
  Step step;
  vfsclient::SetPath(directory.path, step.operation.mutable_read_directory());
  step.expected.directory = directory.digest;
  return step;
}

Step UnlinkStep(std::string_view path) {
  Step step;
  vfsclient::SetPath(path, step.operation.mutable_unlink());
  return step;
}

Step RenameStep(std::string_view from, std::string_view to) {
  Step step;
  auto* rename = step.operation.mutable_rename();
  vfsclient::SetOldPath(from, rename);
  vfsclient::SetNewPath(to, rename);
  return step;
}

Step Expecting(Step step, const StatExpectation& expected) {
  step.expected.stat = expected;
  return step;
}

Step Expecting(Step step, int errno_code) {
  step.expected.errno_code = errno_code;
  return step;
}

// Units ----------------------------------------------------------------------

Unit OpenClose(std::string_view path) {
  return {{OpenStep(path, vfs::v1::OPEN_FLAG_O_RDONLY), CloseStep(0)}};
}

// A name that is not there, beside a file that is: what a search path asks for.
std::string MissingBeside(const CatalogFile& file) {
  return vfsclient::JoinPath(ParentOf(file.path), ".vfsload-missing.h");
}

// One unit for each of up to kPaths files; a slot starts where its number says.
template <class Make>
std::vector<Unit> ForFiles(const BuildContext& context, Make make) {
  const auto& files = context.catalog.files;
  std::vector<Unit> units;
  const size_t count = std::min(kPaths, files.size());
  for (size_t i = 0; i < count; ++i) {
    units.push_back(make(files[(context.slot + i) % files.size()]));
  }
  return units;
}

Units BuildOpenSame(const BuildContext& context) {
  return std::vector<Unit>{OpenClose(context.catalog.files.front().path)};
}

Units BuildOpenOwn(const BuildContext& context) {
  const auto& files = context.catalog.files;
  return std::vector<Unit>{
      OpenClose(files[context.worker % files.size()].path)};
}

Units BuildOpenMissing(const BuildContext& context) {
  return ForFiles(context, [](const CatalogFile& file) {
    return Unit{
        {OpenStep(MissingBeside(file), vfs::v1::OPEN_FLAG_O_RDONLY, kENOENT)}};
  });
}

Units BuildStatHeld(const BuildContext& context, bool with_empty_path) {
  const auto held = context.connection.HeldFiles(context.catalog);
  if (!held) return std::unexpected(held.error());
  std::vector<Unit> units;
  for (const HeldFile& file : *held) {
    Step step = StatOpenStep(with_empty_path, file.stat);
    step.operation.mutable_stat()->set_dir_handle(file.handle.value);
    units.push_back({{std::move(step)}});
  }
  return units;
}

Units BuildFstat(const BuildContext& context) {
  return BuildStatHeld(context, /*with_empty_path=*/true);
}

Units BuildStatNull(const BuildContext& context) {
  return BuildStatHeld(context, /*with_empty_path=*/false);
}

Units BuildStatPath(const BuildContext& context) {
  return ForFiles(context, [](const CatalogFile& file) {
    return Unit{{Expecting(StatPathStep(file.path, 0), file.stat)}};
  });
}

// Open, read, close; what the file holds now is what every read must give.
Units BuildReadFile(const BuildContext& context, const std::string& path,
                    bool first_line_only) {
  const auto content = context.connection.session().ReadFile(path);
  if (!content) {
    return std::unexpected(
        fmt::format("read {}: {}", path, content.error().Text()));
  }
  Unit unit{
      {OpenStep(path, vfs::v1::OPEN_FLAG_O_RDONLY), ReadStep(0), CloseStep(0)}};
  Expectation& read = unit.steps[1].expected;
  read.data = content->substr(0, kReadSize);
  if (first_line_only) {
    read.data = content->substr(0, content->find('\n'));
    read.data_is_prefix = true;
  }
  return std::vector<Unit>{std::move(unit)};
}

Units BuildProcRead(const BuildContext& context) {
  return BuildReadFile(context, context.proc_file, /*first_line_only=*/false);
}

Units BuildRemovableRead(const BuildContext& context) {
  const uint32_t number = context.connection.session().info().session_number();
  // Further lines count the session's own doings.
  return BuildReadFile(context, fmt::format("/proc/{}/status", number),
                       /*first_line_only=*/true);
}

Units BuildReadDirectory(const BuildContext& context) {
  std::vector<Unit> units;
  for (const CatalogDirectory& directory : context.catalog.directories) {
    if (units.size() == kPaths) break;
    units.push_back({{ReadDirectoryStep(directory)}});
  }
  if (units.empty()) {
    return std::unexpected(
        "no directory below the root of the walk can be "
        "listed");
  }
  return units;
}

Units BuildCreateUnlink(const BuildContext& context) {
  // Names of this slot only: what it creates nobody else removes.
  constexpr size_t kNames = 16;
  std::vector<Unit> units;
  for (size_t i = 0; i < kNames; ++i) {
    const std::string path = vfsclient::JoinPath(
        context.directory->path(), fmt::format("new-{}-{}", context.slot, i));
    units.push_back(
        {{OpenStep(path,
                   vfs::v1::OPEN_FLAG_O_CREAT | vfs::v1::OPEN_FLAG_O_EXCL |
                       vfs::v1::OPEN_FLAG_O_WRONLY,
                   0, 0644),
          CloseStep(0), UnlinkStep(path)}});
  }
  return units;
}

Units BuildRename(const BuildContext& context) {
  const std::string name = fmt::format("file-{}", context.slot);
  const auto made = context.directory->AddFile(name);
  if (!made) {
    return std::unexpected(
        fmt::format("create {}: {}", name, made.error().Text()));
  }
  const std::string here = vfsclient::JoinPath(context.directory->path(), name);
  const std::string there = here + "-renamed";
  return std::vector<Unit>{
      {{RenameStep(here, there), RenameStep(there, here)}}};
}

// The mix of a kernel build -------------------------------------------------

// What `make` of a part of the Linux kernel asked its file system, counted in
// an strace of its processes (150,000 system calls):
//
//   successful opens of files 13,910, each with an fstat (14,204, as
//     newfstatat(fd, "", AT_EMPTY_PATH)) and a close
//   failed opens 10,359, all ENOENT: 42 % of 24,625 opens
//   stat by path 4,436 successful, 4,333 ENOENT
//   lstat by path 403 successful, 1,393 ENOENT
//   access 545 successful, 1,686 ENOENT
//   directories opened 130, listed and closed (225 getdents64, of which one a
//     directory finds the end)
//
// Left out: readlink, execve, files that are created (226), and what is no
// question about a name (read, mmap, write, dup).
enum class BuildKind {
  kOpenStatClose,
  kOpenMissing,
  kStat,
  kStatMissing,
  kLstat,
  kLstatMissing,
  kAccess,
  kAccessMissing,
  kListDirectory,
};
struct BuildRow {
  BuildKind kind;
  double count;
};
constexpr std::array<BuildRow, 9> kKernelBuild = {{
    {BuildKind::kOpenStatClose, 13910},
    {BuildKind::kOpenMissing, 10359},
    {BuildKind::kStat, 4436},
    {BuildKind::kStatMissing, 4333},
    {BuildKind::kLstat, 403},
    {BuildKind::kLstatMissing, 1393},
    {BuildKind::kAccess, 545},
    {BuildKind::kAccessMissing, 1686},
    {BuildKind::kListDirectory, 130},
}};

Unit ListDirectory(const CatalogDirectory& directory) {
  Unit unit{{OpenStep(directory.path, vfs::v1::OPEN_FLAG_O_RDONLY |
                                          vfs::v1::OPEN_FLAG_O_DIRECTORY),
             Step(), CloseStep(0)}};
  Step& list = unit.steps[1];
  list.operation.mutable_read_directory();
  list.uses_step = 0;
  list.expected.directory = directory.digest;
  return unit;
}

Unit BuildUnit(BuildKind kind, const CatalogFile& file) {
  constexpr uint32_t kNoFollow = vfs::v1::AT_FLAG_AT_SYMLINK_NOFOLLOW;
  switch (kind) {
    case BuildKind::kOpenStatClose: {
      Step stat = StatOpenStep(/*with_empty_path=*/true, file.stat);
      stat.uses_step = 0;
      return {{OpenStep(file.path, vfs::v1::OPEN_FLAG_O_RDONLY |
                                       vfs::v1::OPEN_FLAG_O_CLOEXEC),
               std::move(stat), CloseStep(0)}};
    }
    case BuildKind::kOpenMissing:
      return {
          {OpenStep(MissingBeside(file),
                    vfs::v1::OPEN_FLAG_O_RDONLY | vfs::v1::OPEN_FLAG_O_CLOEXEC,
                    kENOENT)}};
    case BuildKind::kStat:
      return {{Expecting(StatPathStep(file.path, 0), file.stat)}};
    case BuildKind::kStatMissing:
      return {{Expecting(StatPathStep(MissingBeside(file), 0), kENOENT)}};
    case BuildKind::kLstat:
      return {{Expecting(StatPathStep(file.path, kNoFollow), file.stat)}};
    case BuildKind::kLstatMissing:
      return {
          {Expecting(StatPathStep(MissingBeside(file), kNoFollow), kENOENT)}};
    case BuildKind::kAccess:
      return {{AccessStep(file.path, 0)}};
    case BuildKind::kAccessMissing:
    case BuildKind::kListDirectory:
      break;
  }
  return {{AccessStep(MissingBeside(file), kENOENT)}};
}

Units BuildKernelBuild(const BuildContext& context) {
  std::vector<Unit> units;
  for (const BuildRow& row : kKernelBuild) {
    std::vector<Unit> made;
    if (row.kind == BuildKind::kListDirectory) {
      for (const CatalogDirectory& directory : context.catalog.directories) {
        if (made.size() == kPaths) break;
        made.push_back(ListDirectory(directory));
      }
    } else {
      made = ForFiles(context, [&](const CatalogFile& file) {
        return BuildUnit(row.kind, file);
      });
    }
    for (Unit& unit : made) {
      unit.weight = row.count / static_cast<double>(made.size());
      units.push_back(std::move(unit));
    }
  }
  return units;
}

constexpr auto kScenarios = std::to_array<Scenario>({
    {"openro3", "open and close one file, the same for all", "open, close",
     BuildOpenSame},
    {"open1", "open and close a file, another one for each thread",
     "open, close", BuildOpenOwn},
    {"openneg", "open names that do not exist, beside files that do",
     "open (ENOENT)", BuildOpenMissing},
    {"fstat", "Stat of open files with the path \"\" (AT_EMPTY_PATH)", "stat",
     BuildFstat},
    {"statx-null", "Stat of open files without a path (AT_EMPTY_PATH)", "stat",
     BuildStatNull},
    {"statx-path", "Stat of files by their path", "stat", BuildStatPath},
    {"procread", "open, read and close a permanent file of /proc (--file)",
     "open, read, close", BuildProcRead, false, false},
    {"removable-read", "open, read and close the session's own file of /proc",
     "open, read, close", BuildRemovableRead, false, false},
    {"readdir", "list directories, a page each", "readdir", BuildReadDirectory},
    {"create-unlink", "create a file, close it, remove it",
     "open (O_CREAT), close, unlink", BuildCreateUnlink, true, false},
    {"rename", "rename a file there and back", "rename, rename", BuildRename,
     true, false},
    {"build", "what a kernel build asks: 42 % of its opens fail",
     "open, stat, close; failed opens; stat, access by path; readdir",
     BuildKernelBuild},
});

}  // namespace

std::span<const Scenario> Scenarios() { return kScenarios; }

const Scenario* FindScenario(std::string_view name) {
  const auto found = std::ranges::find(kScenarios, name, &Scenario::name);
  return found != kScenarios.end() ? &*found : nullptr;
}

std::expected<Mix, std::string> Mix::Parse(std::string_view text) {
  Mix mix;
  mix.text_ = text;
  const auto bad = [text](const std::string& why) {
    return std::unexpected(fmt::format("'{}' is no scenario: {}", text, why));
  };
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const size_t equals = part.find('=');
    const std::string_view name = part.substr(0, equals);
    const Scenario* scenario = FindScenario(name);
    if (scenario == nullptr) {
      std::string names;
      for (const Scenario& known : kScenarios) {
        names += names.empty() ? "" : ", ";
        names += known.name;
      }
      return bad(fmt::format("there is no '{}' (there are {})", name, names));
    }
    double weight = 1;
    if (equals != std::string_view::npos) {
      const std::string_view number = part.substr(equals + 1);
      const auto [end, error] =
          std::from_chars(number.data(), number.data() + number.size(), weight);
      if (error != std::errc() || end != number.data() + number.size() ||
          !(weight > 0 && weight <= 1e9)) {
        return bad(
            fmt::format("the weight '{}' is no positive number", number));
      }
    }
    mix.parts_.push_back({scenario, weight});
    if (comma == std::string_view::npos) return mix;
    rest.remove_prefix(comma + 1);
  }
}

bool Mix::NeedsDirectory() const {
  return std::ranges::any_of(parts_, [](const MixPart& part) {
    return part.scenario->needs_directory;
  });
}

bool Mix::NeedsFiles() const {
  return std::ranges::any_of(
      parts_, [](const MixPart& part) { return part.scenario->needs_files; });
}

Units Mix::Build(const BuildContext& context) const {
  std::vector<Unit> all;
  for (const MixPart& part : parts_) {
    Units units = part.scenario->build(context);
    if (!units) {
      return std::unexpected(
          fmt::format("{}: {}", part.scenario->name, units.error()));
    }
    double sum = 0;
    for (const Unit& unit : *units) sum += unit.weight;
    for (Unit& unit : *units) {
      unit.weight *= part.weight / sum;
      all.push_back(std::move(unit));
    }
  }
  return all;
}

}  // namespace vfsload
