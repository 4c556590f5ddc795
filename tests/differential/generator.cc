#include "tests/differential/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/vfs/linux_abi.h"

namespace vfsd::differential {
namespace {

namespace abi = vfs::linux_abi;

constexpr uint32_t kUserIds[] = {0, 1000, 1001, 1002};

class Generator {
 public:
  Generator(uint64_t seed, const GeneratorOptions& options) : random_(seed) {
    program_.name = fmt::format("seed-{}", seed);
    program_.seed = seed;
    program_.ticks = options.ticks;
    program_.actors = {Actor{0, 0, {}}, Actor{1000, 1000, {}},
                       Actor{1001, 1001, {1000, 2000}}, Actor{1002, 2000, {}}};
    program_.root_mode = Pick<uint32_t>({0755, 0777, 01777, 0777, 02777, 0711});
    program_.umask = Pick<uint32_t>({022, 022, 0, 077, 027});
    // For errors only: its own truncation leaves the times alone, tmpfs's,
    // which ours is, does not.
    if (Chance(12) && !program_.ticks) program_.oracle = Oracle::kRamfs;
    root_percent_ = Pick<uint32_t>({100, 60, 60, 30, 5});
    steps_ = options.steps;
  }

  Program Make() {
    const size_t setup = 4 + Below(8);
    for (size_t i = 0; i < setup; ++i) SetUp();
    if (Chance(4)) LinkChain();
    while (program_.steps.size() < steps_) Random();
    return std::move(program_);
  }

 private:
  // Numbers.
  uint64_t Below(uint64_t limit) { return random_() % limit; }
  bool Chance(uint32_t percent) { return Below(100) < percent; }
  template <typename T>
  T Pick(std::initializer_list<T> values) {
    return *(values.begin() + Below(values.size()));
  }
  template <typename T>
  const T& PickOf(const std::vector<T>& values) {
    return values[Below(values.size())];
  }

  uint32_t AnActor() {
    if (Chance(root_percent_)) return 0;
    return 1 + static_cast<uint32_t>(Below(program_.actors.size() - 1));
  }

  // Names and paths.
  std::string Name() {
    if (Chance(2)) return std::string(Pick<size_t>({255, 255, 256, 300}), 'n');
    return Pick<std::string>({"a", "b", "c", "d", "a", "b", "e"});
  }

  std::string RandomPath() {
    std::string path;
    if (Chance(60)) path = "/";
    const size_t components = 1 + Below(4);
    for (size_t i = 0; i < components; ++i) {
      if (i > 0) path += Chance(5) ? "//" : "/";
      if (Chance(6)) {
        path += ".";
      } else if (Chance(8)) {
        path += "..";
      } else {
        path += Name();
      }
    }
    return path;
  }

  // What the program probably made. It may have failed, and it may be gone.
  struct Known {
    std::string path;
    char type;  // 'd'irectory, 'f'ile or 'l'ink
  };

  // Of that type, if there is one; '*': any.
  std::string KnownOf(char type) {
    for (int i = 0; i < 8 && !known_.empty(); ++i) {
      const Known& known = PickOf(known_);
      if (type == '*' || known.type == type) return known.path;
    }
    return type == 'd' ? "" : RandomPath();
  }

  std::string KnownPath(char type = '*') {
    std::string path = KnownOf(type);
    if (path.empty()) path = "/";
    if (Chance(8)) path += "/" + Name();
    if (Chance(5)) path += Pick<std::string>({"/.", "/..", "/../a", "/./b"});
    if (Chance(5)) path.insert(0, Pick<std::string>({"/", "/..", "/."}));
    if (Chance(15)) path.erase(0, 1);
    return path;
  }

  // A name in a directory, where something may be made.
  std::string NewPath() {
    if (Chance(10)) return KnownPath();
    return (Chance(30) ? "" : KnownOf('d')) + "/" + Name();
  }

  // What kind of path a step is after.
  enum class Wanted { kAny, kDirectory, kFile, kLink, kNew };

  // A path that may be anything, NULL included.
  PathText AnyPath(Wanted wanted) {
    if (Chance(3)) return SpecialPath();
    std::string path;
    if (Chance(12)) {
      path = RandomPath();
    } else if (wanted == Wanted::kNew) {
      path = NewPath();
    } else {
      constexpr char kTypes[] = {'*', 'd', 'f', 'l'};
      path = KnownPath(Chance(75) ? kTypes[static_cast<size_t>(wanted)] : '*');
    }
    if (Chance(7)) path += Pick<std::string>({"/", "/", "//"});
    return path;
  }

  PathText SpecialPath() {
    switch (Below(12)) {
      case 0:
        return std::nullopt;
      case 1:
      case 2:
        return "";
      case 3:
        return "/";
      case 4:
        return ".";
      case 5:
        return "..";
      case 6:
        return "./";
      case 7: {
        // 4,095 bytes are fine, 4,096 are not.
        std::string path;
        while (path.size() < 4092) path += "./";
        path += Pick<std::string>({"a", ".a", "./a", ".//a", "..//a", "b/c/d"});
        return path;
      }
      case 8:
        return "//a";
      case 9:
        return "../../a";
      case 10:
        return std::string(255, 'n') + "/a";
      default:
        return std::string(256, 'n');
    }
  }

  // An open handle, or nearly so.
  struct Open {
    int number;
    std::string path;
    bool is_directory;  // probably
  };

  int AHandle() {
    if (!handles_.empty() && Chance(92)) return PickOf(handles_).number;
    if (!closed_.empty() && Chance(60)) return PickOf(closed_);
    return kNoHandle;
  }

  // dir and path that often are relative to an open handle.
  void SetPlace(int& dir, PathText& path, Wanted wanted) {
    dir = kCwd;
    path = AnyPath(wanted);
    if (Chance(handles_.empty() ? 97 : 70)) return;
    if (Chance(20)) {
      dir = AHandle();
      return;
    }
    for (int i = 0; i < 6 && !handles_.empty(); ++i) {
      const Open& open = PickOf(handles_);
      if (!open.is_directory) continue;
      dir = open.number;
      // Below the directory where it is known to be, else any name.
      if (path.has_value() && path->starts_with(open.path + "/")) {
        path->erase(0, open.path.size() + 1);
      } else if (Chance(60)) {
        path = Name();
      } else if (path.has_value() && path->starts_with('/') && Chance(70)) {
        path->erase(0, path->find_first_not_of('/'));
      }
      return;
    }
  }

  void Learn(const PathText& path, char type) {
    if (!path.has_value() || path->empty() || path->size() > 300) return;
    if (path->front() != '/') return;
    if (known_.size() < 20) {
      known_.push_back({*path, type});
    } else {
      known_[Below(known_.size())] = {*path, type};
    }
  }

  uint32_t Permissions() {
    return Pick<uint32_t>({0755, 0644, 0777, 0700, 0600, 0666, 0, 0711, 0444,
                           0555, 01777, 02775, 04755, 06777, 0070, 0007, 02644,
                           03777});
  }

  // Steps.
  Step& Add(Kind kind) {
    Step& step = program_.steps.emplace_back();
    step.kind = kind;
    return step;
  }

  // By root, and mostly successful: something to work on.
  void SetUp() {
    const std::string path = (Chance(35) ? "" : KnownOf('d')) + "/" +
                             Pick<std::string>({"a", "b", "c", "d", "e"});
    char type = 'f';
    switch (Below(7)) {
      case 5: {
        Step& step = Add(Kind::kMakeNode);
        step.path = path;
        step.mode = Pick<uint32_t>({0666, 0644, 0600, 0222}) |
                    Pick<uint32_t>({abi::kSIfifo, abi::kSIfifo, abi::kSIfsock,
                                    abi::kSIfreg, abi::kSIfchr});
        break;
      }
      case 0:
      case 1:
      case 2: {
        type = 'd';
        Step& step = Add(Kind::kMakeDirectory);
        step.path = path;
        step.mode = Pick<uint32_t>({0755, 0777, 0700, 01777});
        if (Chance(40)) {
          Step& chmod = Add(Kind::kChangeMode);
          chmod.path = path;
          chmod.mode = Permissions();
        }
        break;
      }
      case 3:
      case 4: {
        Step& step = Add(Kind::kOpen);
        step.result = next_handle_++;
        step.path = path;
        step.flags = abi::kOCreat | abi::kOWrOnly;
        step.mode = Permissions();
        const int handle = step.result;
        Add(Kind::kClose).dir = handle;
        break;
      }
      default:
        type = 'l';
        MakeSymlink(path);
    }
    if (Chance(25)) ChangeOwner(path);
    Learn(path, type);
  }

  std::string Target() {
    if (Chance(8)) {
      return Pick<std::string>(
          {".", "..", "/", "./", "../", "a/", "/b/", "//"});
    }
    std::string path = Chance(80) ? KnownPath() : RandomPath();
    if (Chance(10)) path += "/";
    if (Chance(50)) path.erase(0, path.find_first_not_of('/'));
    return path.empty() ? "." : path;
  }

  void MakeSymlink(std::string path) {
    Step& step = Add(Kind::kMakeSymlink);
    step.path2 = Target();
    step.path = std::move(path);
  }

  void ChangeOwner(std::string path) {
    Step& step = Add(Kind::kChangeOwner);
    step.path = std::move(path);
    step.flags = abi::kAtSymlinkNofollow;
    step.uid = kUserIds[Below(4)];
    step.gid = Pick<uint32_t>({0, 1000, 1001, 2000});
  }

  // A chain of 40, 41 or 42 links to something.
  void LinkChain() {
    const size_t length = 39 + Below(4);
    std::string target = KnownPath();
    for (size_t i = 0; i < length; ++i) {
      Step& step = Add(Kind::kMakeSymlink);
      step.path2 = target;
      step.path = fmt::format("/l{}", i);
      target = fmt::format("l{}", i);
    }
    Learn("/" + target, 'l');
    Learn("/" + target, 'd');
    Learn("/" + target + "/a", 'f');
    steps_ += length;
  }

  void Random() {
    const uint64_t dice = Below(1000);
    const std::pair<uint64_t, void (Generator::*)()> rows[] = {
        {210, &Generator::AddOpen},          {250, &Generator::AddOpenHow},
        {350, &Generator::AddStat},          {400, &Generator::AddAccess},
        {460, &Generator::AddClose},         {500, &Generator::AddReaddir},
        {515, &Generator::AddRead},          {535, &Generator::AddReadLink},
        {595, &Generator::AddMkdir},         {620, &Generator::AddMknod},
        {665, &Generator::AddSymlink},       {715, &Generator::AddLink},
        {795, &Generator::AddUnlink},        {885, &Generator::AddRename},
        {915, &Generator::AddChmod},         {935, &Generator::AddChown},
        {945, &Generator::AddTruncate},      {960, &Generator::AddUtimens},
        {968, &Generator::AddSetAttributes}, {973, &Generator::AddStatfs},
        {978, &Generator::AddMount},         {982, &Generator::AddBind},
        {987, &Generator::AddUnmount},       {991, &Generator::AddRemount},
        {995, &Generator::Provoke},          {1000, &Generator::SetUp}};
    for (const auto& [limit, add] : rows) {
      if (dice < limit) return (this->*add)();
    }
  }

  // Mounts are root's, at plain paths: what they do to walks is what counts.
  std::string MountPath() {
    if (!mounted_.empty() && Chance(70)) return PickOf(mounted_);
    return KnownPath('d');
  }

  void AddMount() {
    Step& step = Add(Kind::kMount);
    step.path = KnownPath('d');
    if (Chance(15)) step.flags = 1;  // MS_RDONLY
    mounted_.push_back(*step.path);
  }

  void AddBind() {
    Step& step = Add(Kind::kBind);
    step.path = KnownPath('d');
    step.path2 = Chance(70) ? KnownPath('d') : MountPath();
    if (Chance(5)) step.path2 = "";
    if (Chance(30)) step.flags = 1;  // MS_RDONLY
    mounted_.push_back(*step.path);
  }

  void AddUnmount() {
    Step& step = Add(Kind::kUnmount);
    step.path = MountPath();
    if (Chance(40)) step.flags = 2;  // MNT_DETACH
  }

  void AddRemount() {
    Step& step = Add(Kind::kRemount);
    step.path = Chance(60) ? "/" : MountPath();
    step.flags = read_only_ && Chance(80) ? 0 : 1;
    read_only_ = step.flags != 0;
  }

  // What chance seldom brings about: a few steps that make it (nearly) certain.
  void Provoke() {
    const std::string directory = KnownOf('d');
    const std::string path = directory + "/" + Name();
    switch (Below(5)) {
      case 0: {  // a busy mount
        Add(Kind::kMakeDirectory).path = path;
        Add(Kind::kMount).path = path;
        Step& open = Add(Kind::kOpen);
        open.path = path;
        open.result = next_handle_++;
        handles_.push_back({open.result, path, true});
        Add(Kind::kUnmount).path = path;
        if (Chance(50)) {
          AddClose();
          Step& unmount = Add(Kind::kUnmount);
          unmount.path = path;
          if (Chance(50)) unmount.flags = 2;  // MNT_DETACH
        }
        mounted_.push_back(path);
        break;
      }
      case 1: {  // a writer, and no read-only remount
        Step& open = Add(Kind::kOpen);
        open.path = "/" + Pick<std::string>({"a", "b", "c"});
        open.flags = abi::kOCreat | abi::kOWrOnly;
        open.mode = 0666;
        open.result = next_handle_++;
        handles_.push_back({open.result, *open.path, false});
        Step& remount = Add(Kind::kRemount);
        remount.path = "/";
        remount.flags = 1;
        break;
      }
      case 2: {  // what is not in the cache, and never is for those flags
        Step& open = Add(Kind::kOpenHow);
        open.actor = AnActor();
        open.path = path;
        open.result = next_handle_++;
        open.flags = Pick<uint32_t>({abi::kOTrunc, abi::kOCreat | abi::kORdWr});
        open.resolve = abi::kResolveCached;
        break;
      }
      case 3: {  // all handles in use
        const uint32_t actor = AnActor();
        for (uint32_t i = 0; i < kMaxHandles + 1; ++i) {
          Step& open = Add(Chance(80) ? Kind::kOpen : Kind::kOpenHow);
          open.actor = actor;
          open.path = i < kMaxHandles ? "/" : path;
          if (open.kind == Kind::kOpen && i == kMaxHandles)
            open.flags = OpenFlags();
          open.result = next_handle_++;
          handles_.push_back({open.result, "", true});
        }
        for (int i = 0; i < 8; ++i) AddClose();
        break;
      }
      default: {  // a fifo and its ends
        Step& node = Add(Kind::kMakeNode);
        node.path = path;
        node.mode = abi::kSIfifo | 0666;
        Learn(node.path, 'f');
        const size_t opens = 1 + Below(3);
        for (size_t i = 0; i < opens; ++i) {
          Step& open = Add(Kind::kOpen);
          open.actor = AnActor();
          open.path = path;
          open.flags = Pick<uint32_t>(
              {abi::kORdOnly, abi::kOWrOnly, abi::kOWrOnly, abi::kORdWr,
               abi::kOWrOnly | abi::kONonblock, abi::kOAccMode});
          open.result = next_handle_++;
          handles_.push_back({open.result, path, false});
        }
        break;
      }
    }
  }

  void AddOpenHow() {
    AddOpen();
    Step& step = program_.steps.back();
    step.kind = Kind::kOpenHow;
    // openat2(2) is strict: mostly what it allows.
    if (Chance(90)) {
      if ((step.flags & (abi::kOCreat | abi::kOTmpfileBit)) == 0) step.mode = 0;
      step.mode &= 07777;
    }
    if ((step.flags & abi::kOPath) != 0 && Chance(90)) {
      step.flags &=
          abi::kOPath | abi::kODirectory | abi::kONofollow | abi::kOCloexec;
    }
    step.resolve = Pick<uint64_t>(
        {0, 1, 2, 4, 4, 8, 8, 8, 16, 16, 16, 32, 24, 64, 12, 20});
    if (Chance(10)) step.resolve = Below(64);
    // Whether a link's access time is stale, which RESOLVE_CACHED will not
    // touch, is certain only where the clock ticks between steps.
    if (!program_.ticks) step.resolve &= ~abi::kResolveCached;
  }

  void AddReadLink() {
    Step& step = Add(Kind::kReadLink);
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kLink);
    if (step.dir != kCwd && Chance(30)) step.path = "";
  }

  void AddMknod() {
    Step& step = Add(Kind::kMakeNode);
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kNew);
    step.mode = Permissions() |
                Pick<uint32_t>({abi::kSIfifo, abi::kSIfifo, abi::kSIfsock,
                                abi::kSIfchr, abi::kSIfblk, abi::kSIfreg, 0,
                                abi::kSIfdir, abi::kSIflnk, 0150000});
    // Numbers that no driver has.
    if (Chance(70)) {
      step.device_major = 0xabc;
      step.device_minor = 0xdef;
    }
    if (step.dir == kCwd) Learn(step.path, 'f');
  }

  void AddSymlink() {
    Step& step = Add(Kind::kMakeSymlink);
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kNew);
    step.path2 = Chance(4) ? SpecialPath() : PathText(Target());
    if (step.dir == kCwd) Learn(step.path, 'l');
  }

  void AddLink() {
    Step& step = Add(Kind::kMakeLink);
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kFile);
    SetPlace(step.dir2, step.path2, Wanted::kNew);
    if (Chance(25)) step.flags |= abi::kAtSymlinkFollow;
    if (Chance(25)) {
      step.flags |= abi::kAtEmptyPath;
      if (Chance(70)) step.path = "";
    }
    if (Chance(2)) step.flags |= Pick<uint32_t>({1, 0x100, 0x2000});
    if (step.dir2 == kCwd) Learn(step.path2, 'f');
  }

  // Where attributes are changed: by path, or the f-form.
  void SetAttributePlace(Step& step) {
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kAny);
    if (step.dir != kCwd && Chance(50)) {
      step.path.reset();
      return;
    }
    if (!Uses(step.kind, kFlags)) return;
    if (Chance(25)) step.flags |= abi::kAtSymlinkNofollow;
    if (Chance(15)) {
      step.flags |= abi::kAtEmptyPath;
      if (Chance(70)) step.path = "";
      if (Chance(15)) step.path.reset();
    }
    if (Chance(2)) step.flags |= Pick<uint32_t>({1, 0x400, 0x2000});
  }

  void AddChmod() {
    Step& step = Add(Kind::kChangeMode);
    SetAttributePlace(step);
    step.mode = Chance(95) ? Permissions() : static_cast<uint32_t>(random_());
  }

  void AddChown() {
    Step& step = Add(Kind::kChangeOwner);
    SetAttributePlace(step);
    step.uid = Pick<uint32_t>({0, 1000, 1001, 1002, kUnchanged, kUnchanged});
    step.gid = Pick<uint32_t>({0, 1000, 1001, 2000, kUnchanged, kUnchanged});
  }

  void AddTruncate() {
    Step& step = Add(Kind::kTruncate);
    SetAttributePlace(step);
    // There is no truncateat(2).
    if (step.path.has_value()) step.dir = kCwd;
    step.size =
        Pick<int64_t>({0, 0, 1, 4096, 5000, -1, int64_t{1} << 40, INT64_MAX});
  }

  void AddUtimens() {
    Step& step = Add(Kind::kSetTimes);
    SetAttributePlace(step);
    SetTimes(step);
  }

  void SetTimes(Step& step) {
    const auto time = [this] {
      TimeArgument argument;
      argument.kind = Pick({TimeArgument::Kind::kNow, TimeArgument::Kind::kOmit,
                            TimeArgument::Kind::kSet});
      if (argument.kind == TimeArgument::Kind::kSet) {
        argument.seconds = Pick<int64_t>({0, 1, 1'000'000'000, -1});
        argument.nanoseconds =
            Pick<uint32_t>({0, 1, 999'999'999, 1'000'000'000});
      }
      return argument;
    };
    step.atime = time();
    step.mtime = Chance(40) ? step.atime : time();
  }

  // Mostly what can be had together, and often only by root.
  void AddSetAttributes() {
    Step& step = Add(Kind::kSetAttributes);
    SetAttributePlace(step);
    step.changes = static_cast<uint32_t>(1 + Below(15));
    // There is no truncateat(2), and it takes no flags.
    if (step.path.has_value()) step.changes &= ~uint32_t{kChangesSize};
    if (step.changes == 0) step.changes = kChangesMode | kChangesOwner;
    step.mode = Permissions();
    step.uid = Pick<uint32_t>({0, 1000, 1001, kUnchanged});
    step.gid = Pick<uint32_t>({0, 1000, 2000, kUnchanged});
    step.size = Pick<int64_t>({0, 1, 5000});
    SetTimes(step);
  }

  void AddStatfs() {
    Step& step = Add(Kind::kStatFileSystem);
    SetAttributePlace(step);
  }

  uint32_t OpenFlags() {
    if (Chance(4)) {
      // Anything, also what nobody means.
      return static_cast<uint32_t>(Below(uint64_t{1} << 32)) & ~abi::kODirect;
    }
    uint32_t flags = Pick<uint32_t>({abi::kORdOnly, abi::kORdOnly,
                                     abi::kOWrOnly, abi::kORdWr, abi::kORdWr});
    if (Chance(3)) flags = abi::kOAccMode;
    if (Chance(35)) flags |= abi::kOCreat;
    if ((flags & abi::kOCreat) != 0 ? Chance(30) : Chance(3))
      flags |= abi::kOExcl;
    if (Chance(15)) flags |= abi::kOTrunc;
    if (Chance(12)) flags |= abi::kONofollow;
    if (Chance(15)) flags |= abi::kODirectory;
    if (Chance(10)) flags |= abi::kOPath;
    if (Chance(5)) flags |= abi::kONoatime;
    if (Chance(4)) flags |= abi::kODirectory | abi::kOTmpfileBit;
    if (Chance(1)) flags |= abi::kOTmpfileBit;
    if (Chance(program_.oracle == Oracle::kRamfs ? 25 : 5))
      flags |= abi::kODirect;
    if (Chance(5)) {
      flags |= Pick<uint32_t>({abi::kOAppend, abi::kONoctty, abi::kODsync,
                               abi::kOSyncBit, abi::kOLargefile, abi::kOCloexec,
                               abi::kFasync, 0x40000000U});
    }
    return flags;
  }

  void AddOpen() {
    Step& step = Add(Kind::kOpen);
    step.actor = AnActor();
    step.result = next_handle_++;
    step.flags = OpenFlags();
    const bool makes = (step.flags & abi::kOCreat) != 0 && Chance(60);
    const bool directory =
        !makes && ((step.flags & (abi::kODirectory | abi::kOTmpfileBit)) != 0 ||
                   Chance(20));
    // A directory is opened for reading, mostly.
    if (directory && Chance(60)) {
      step.flags &= ~(abi::kOAccMode | abi::kOTrunc | abi::kOCreat);
      if ((step.flags & abi::kOTmpfileBit) != 0) step.flags |= abi::kORdWr;
    }
    SetPlace(step.dir, step.path,
             makes       ? Wanted::kNew
             : directory ? Wanted::kDirectory
                         : Wanted::kFile);
    if (Chance(40)) step.flags |= abi::kONonblock;
    step.mode = Chance(90) ? Permissions() : static_cast<uint32_t>(random_());
    handles_.push_back({step.result, step.path.value_or(""), directory});
    if (makes && step.dir == kCwd) Learn(step.path, 'f');
  }

  void AddStat() {
    Step& step = Add(Kind::kStat);
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kAny);
    if (Chance(30)) {
      step.flags |= abi::kAtEmptyPath;
      if (Chance(70)) {
        step.path = Chance(50) ? PathText("") : std::nullopt;
      }
    }
    if (Chance(30)) step.flags |= abi::kAtSymlinkNofollow;
    if (Chance(5)) {
      step.flags |= Pick<uint32_t>(
          {abi::kAtNoAutomount, abi::kAtStatxForceSync, abi::kAtStatxDontSync,
           abi::kAtStatxSyncType, abi::kAtSymlinkFollow, abi::kAtRemovedir, 1,
           0x8000, 0x80000000U});
    }
    step.mask = Pick<uint32_t>({0x7ff, 0xfff, 0x7ff, 0, 0x1fff, 0x7fff, 0x4000,
                                0x5000, 0x7fffffff, 0x40, 0x80, 0x2000});
    if (Chance(2)) step.mask |= 0x80000000U;
  }

  void AddAccess() {
    Step& step = Add(Kind::kAccess);
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kAny);
    step.mode = static_cast<uint32_t>(Below(8));
    if (Chance(3)) step.mode |= Pick<uint32_t>({8, 0x10, 0x1000});
    if (Chance(15)) step.flags |= abi::kAtSymlinkNofollow;
    if (Chance(15)) step.flags |= abi::kAtEaccess;
    if (Chance(15)) {
      step.flags |= abi::kAtEmptyPath;
      if (Chance(60)) step.path = Chance(50) ? PathText("") : std::nullopt;
    }
    if (Chance(3))
      step.flags |= Pick<uint32_t>({0x400, 0x800, 0x2000, 1, 0x80000000U});
  }

  void AddClose() {
    Step& step = Add(Kind::kClose);
    step.actor = AnActor();
    step.dir = kNoHandle;
    if (!handles_.empty() && Chance(90)) {
      const size_t index = Below(handles_.size());
      step.dir = handles_[index].number;
      closed_.push_back(step.dir);
      handles_.erase(handles_.begin() + static_cast<long>(index));
    } else if (!closed_.empty() && Chance(50)) {
      step.dir = PickOf(closed_);
    }
  }

  void AddReaddir() {
    Step& step = Add(Kind::kReadDirectory);
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kDirectory);
    if (step.dir != kCwd && Chance(60))
      step.path = Chance(50) ? PathText("") : std::nullopt;
    step.size = Pick<int64_t>({1, 2, 3, 100});
    if (Chance(35)) step.mask = Pick<uint32_t>({0x7ff, 0xfff, 0x5000, 0x40});
  }

  void AddRead() {
    Step& step = Add(Kind::kRead);
    step.actor = AnActor();
    step.dir = AHandle();
    step.offset = Pick<int64_t>({0, 0, 1, 4096, -1});
    step.size = Pick<int64_t>({0, 1, 100});
  }

  void AddMkdir() {
    Step& step = Add(Kind::kMakeDirectory);
    step.actor = AnActor();
    SetPlace(step.dir, step.path, Wanted::kNew);
    step.mode = Chance(90) ? Permissions() : static_cast<uint32_t>(random_());
    if (step.dir == kCwd) Learn(step.path, 'd');
  }

  void AddUnlink() {
    Step& step = Add(Kind::kUnlink);
    step.actor = AnActor();
    const bool directory = Chance(45);
    SetPlace(step.dir, step.path,
             directory ? Wanted::kDirectory : Wanted::kFile);
    if (directory ? Chance(95) : Chance(5)) step.flags = abi::kAtRemovedir;
    if (Chance(2))
      step.flags |= Pick<uint32_t>({1, 0x100, 0x1000, 0x80000000U});
  }

  void AddRename() {
    Step& step = Add(Kind::kRename);
    step.actor = AnActor();
    const bool directory = Chance(40);
    SetPlace(step.dir, step.path,
             directory ? Wanted::kDirectory : Wanted::kFile);
    SetPlace(step.dir2, step.path2,
             Chance(50)  ? Wanted::kNew
             : directory ? Wanted::kDirectory
                         : Wanted::kFile);
    if (Chance(15)) step.flags |= abi::kRenameNoreplace;
    if (Chance(15)) step.flags |= abi::kRenameExchange;
    if (Chance(2)) step.flags |= Pick<uint32_t>({8, 16, 0x80000000U});
    if (step.dir2 == kCwd) Learn(step.path2, directory ? 'd' : 'f');
  }

  std::mt19937_64 random_;
  Program program_;
  size_t steps_ = 0;
  uint32_t root_percent_ = 100;
  bool read_only_ = false;
  std::vector<std::string> mounted_;
  int next_handle_ = 1;
  std::vector<Known> known_;
  std::vector<Open> handles_;
  std::vector<int> closed_;
};

}  // namespace

Program GenerateProgram(uint64_t seed, const GeneratorOptions& options) {
  return Generator(seed, options).Make();
}

}  // namespace vfsd::differential
