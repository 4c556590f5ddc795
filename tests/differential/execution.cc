#include "tests/differential/execution.h"

#include <fmt/format.h>

#include <cerrno>

#include "server/vfs/linux_abi.h"
#include "tests/differential/comparison.h"
#include "tests/differential/program_text.h"

namespace vfsd::differential {
namespace {

namespace abi = vfs::linux_abi;

// What the kernel leaves behind of an open that fails late.
bool MayLeaveTrace(const Program& program, const Step& step) {
  return program.oracle == Oracle::kRamfs &&
         (step.kind == Kind::kOpen || step.kind == Kind::kOpenHow) &&
         (step.flags & abi::kODirect) != 0;
}

// What a failed step changed, which must be nothing. Access times do not count:
// a walk that fails has read the links and listed the directories on its way.
std::string TraceOf(const Listing& before, const Listing& after) {
  std::string text;
  for (const auto& [path, statx] : before) {
    const auto found = after.find(path);
    if (found == after.end()) {
      text += path + " is gone; ";
      continue;
    }
    const vfs::Statx& now = found->second;
    if (now.ino != statx.ino || now.mode != statx.mode ||
        now.nlink != statx.nlink || now.uid != statx.uid ||
        now.gid != statx.gid || now.size != statx.size ||
        now.blocks != statx.blocks || now.mtime != statx.mtime ||
        now.ctime != statx.ctime || now.btime != statx.btime) {
      text += path + " changed; ";
    }
  }
  for (const auto& [path, statx] : after) {
    if (!before.contains(path)) text += path + " is new; ";
  }
  return text;
}

}  // namespace

std::optional<Failure> Execution::Run(const Program& program,
                                      Coverage* coverage) {
  for (const auto& runner : runners_) runner->Begin(program);
  std::optional<Failure> failure = RunSteps(program, coverage);
  for (const auto& runner : runners_) {
    const std::string left = runner->End();
    if (!left.empty() && !failure.has_value()) {
      failure =
          Failure{std::string(runner->name()), program.steps.size(), left};
    }
  }
  return failure;
}

std::optional<Failure> Execution::RunSteps(const Program& program,
                                           Coverage* coverage) {
  ticks_.Reset();
  // Times name their steps only where all run a step in its tick.
  const auto together = [&](size_t r) {
    return runners_[r]->RunsTogether() && !program.ticks;
  };
  std::vector<Comparison> comparisons(
      runners_.size(),
      Comparison(program.oracle, program.ticks ? &ticks_ : nullptr));
  std::vector<Listing> listings(runners_.size());
  for (size_t r = 1; r < runners_.size(); ++r) {
    if (!together(r)) listings[r] = runners_[r]->List();
  }
  std::vector<Outcome> answers;
  bool half_done = false;
  for (const Step& step : program.steps) {
    const size_t i = answers.size();
    if (program.ticks) ticks_.Next();
    const Outcome kernel = runners_.front()->Run(step);
    half_done = kernel.error == kHalfDone;
    if (half_done) break;
    answers.push_back(kernel);
    if (coverage != nullptr) coverage->Count(step, kernel.error);
    if (kernel.error == kNotAsked) continue;
    for (size_t r = 1; r < runners_.size(); ++r) {
      if (together(r)) continue;
      const Outcome other = runners_[r]->Run(step);
      std::string what = comparisons[r].Compare(step, kernel, other);
      Listing after = runners_[r]->List();
      if (what.empty() && other.error != 0 && !MayLeaveTrace(program, step)) {
        what = TraceOf(listings[r], after);
        if (!what.empty()) what = "a failed operation left a trace: " + what;
      }
      listings[r] = std::move(after);
      if (!what.empty())
        return Failure{std::string(runners_[r]->name()), i, what};
    }
  }
  for (size_t r = 1; r < runners_.size(); ++r) {
    if (!together(r)) continue;
    const std::vector<Outcome> others = runners_[r]->RunAll(program, answers);
    for (size_t i = 0; i < answers.size(); ++i) {
      const std::string what =
          comparisons[r].Compare(program.steps[i], answers[i], others[i]);
      if (!what.empty())
        return Failure{std::string(runners_[r]->name()), i, what};
    }
    listings[r] = runners_[r]->List();
  }
  // The kernel's end is not ours then.
  if (half_done) return std::nullopt;
  if (program.ticks) ticks_.Next();
  const Listing kernel = runners_.front()->List();
  for (size_t r = 1; r < runners_.size(); ++r) {
    const std::string what = comparisons[r].Compare(kernel, listings[r]);
    if (!what.empty()) {
      return Failure{std::string(runners_[r]->name()), program.steps.size(),
                     what};
    }
  }
  return std::nullopt;
}

}  // namespace vfsd::differential
