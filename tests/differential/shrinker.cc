#include "tests/differential/shrinker.h"

#include <algorithm>
#include <bit>

namespace vfsd::differential {
namespace {

using Fails = std::function<bool(const Program&)>;

// Leaves out runs of steps, long ones first.
bool DropSteps(Program& program, const Fails& fails) {
  bool any = false;
  for (size_t length = std::bit_floor(program.steps.size()); length > 0;
       length /= 2) {
    for (size_t at = 0; at < program.steps.size();) {
      Program smaller = program;
      const auto begin = smaller.steps.begin() + static_cast<long>(at);
      const size_t end = std::min(at + length, smaller.steps.size());
      smaller.steps.erase(begin,
                          smaller.steps.begin() + static_cast<long>(end));
      if (fails(smaller)) {
        program = std::move(smaller);
        any = true;
      } else {
        at += length;
      }
    }
  }
  return any;
}

// Tries a change of one step (or of the program) and keeps it if it still
// fails and changed anything.
template <typename Change>
bool Try(Program& program, const Fails& fails, Change&& change) {
  Program changed = program;
  if (!change(changed)) return false;
  if (!fails(changed)) return false;
  program = std::move(changed);
  return true;
}

template <typename T>
bool Set(T& place, const T& value) {
  if (place == value) return false;
  place = value;
  return true;
}

bool SimplifyPath(Program& program, const Fails& fails, size_t i,
                  PathText Step::* member) {
  bool any = false;
  for (;;) {
    const PathText path = program.steps[i].*member;
    if (!path.has_value() || path->size() < 2) return any;
    bool shorter = false;
    for (size_t length = std::bit_floor(path->size()); length > 0 && !shorter;
         length /= 2) {
      for (size_t at = 0; at + length <= path->size() && !shorter;
           at += length) {
        shorter = Try(program, fails, [&](Program& changed) {
          (changed.steps[i].*member)->erase(at, length);
          return true;
        });
      }
    }
    if (!shorter) return any;
    any = true;
  }
}

bool SimplifyStep(Program& program, const Fails& fails, size_t i) {
  bool any = false;
  const auto attempt = [&](auto&& change) {
    any |= Try(program, fails,
               [&](Program& changed) { return change(changed.steps[i]); });
  };
  attempt([](Step& step) { return Set(step.actor, 0U); });
  attempt([](Step& step) { return Set(step.dir, kCwd); });
  attempt([](Step& step) { return Set(step.dir2, kCwd); });
  for (uint32_t bit = 1; bit != 0; bit <<= 1) {
    attempt([bit](Step& step) { return Set(step.flags, step.flags & ~bit); });
  }
  for (const uint32_t mode : {0755U, 0644U, 0U})
    attempt([mode](Step& step) {
      return (step.mode != 0755 && step.mode != 0644) && Set(step.mode, mode);
    });
  attempt([](Step& step) { return Set(step.mask, 0x7ffU); });
  any |= SimplifyPath(program, fails, i, &Step::path);
  any |= SimplifyPath(program, fails, i, &Step::path2);
  return any;
}

}  // namespace

Program Shrink(Program program, const Fails& fails) {
  for (int round = 0; round < 8; ++round) {
    bool any = DropSteps(program, fails);
    any |= Try(program, fails,
               [](Program& changed) { return Set(changed.root_mode, 0755U); });
    any |= Try(program, fails,
               [](Program& changed) { return Set(changed.umask, 022U); });
    any |= Try(program, fails, [](Program& changed) {
      return Set(changed.oracle, Oracle::kTmpfs);
    });
    any |= Try(program, fails,
               [](Program& changed) { return Set(changed.ticks, false); });
    for (size_t i = 0; i < program.steps.size(); ++i)
      any |= SimplifyStep(program, fails, i);
    if (!any) break;
  }
  return program;
}

}  // namespace vfsd::differential
