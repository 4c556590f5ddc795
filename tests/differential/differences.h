// The list of deliberate differences (server/vfs/DIFFERENCES.md), and how the
// comparison treats each: it knows every row, and applies none that is not
// there.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace vfsd::differential {

// How the comparison meets a difference.
enum class Treatment : uint8_t {
  kApplied,      // the kernel's side is asked, or answers, by the rule
  kShape,        // the form in which both sides' answers are compared
  kNotProvoked,  // no program can show it
};

// X(name, id, treatment)
#define VFSD_DIFFERENCES(X)                                     \
  X(UnknownStatFlags, "unknown-stat-flags", kApplied)           \
  X(RegularContent, "regular-content", kApplied)                \
  X(FifoNeverWaits, "fifo-never-waits", kApplied)               \
  X(AttributesTogether, "attributes-together", kApplied)        \
  X(DirectoriesAreMounted, "directories-are-mounted", kApplied) \
  X(NulInPath, "nul-in-path", kNotProvoked)                     \
  X(SameIdsSameCaller, "same-ids-same-caller", kNotProvoked)    \
  X(NoDotEntries, "no-dot-entries", kShape)                     \
  X(ListingNeedsSearch, "listing-needs-search", kShape)         \
  X(OpaqueHandles, "opaque-handles", kShape)

enum class Difference : uint8_t {
#define VFSD_DIFFERENCE(name, id, treatment) k##name,
  VFSD_DIFFERENCES(VFSD_DIFFERENCE)
#undef VFSD_DIFFERENCE
};

inline constexpr struct DifferenceRow {
  std::string_view id;
  Treatment treatment;
} kDifferenceRows[] = {
#define VFSD_DIFFERENCE(name, id, treatment) {id, Treatment::treatment},
    VFSD_DIFFERENCES(VFSD_DIFFERENCE)
#undef VFSD_DIFFERENCE
};

// How often each rule was applied.
class Differences {
 public:
  void Apply(Difference difference) {
    ++applied_[static_cast<size_t>(difference)];
  }
  int64_t applied(size_t row) const { return applied_[row]; }

  // Empty, or what the list in `text` and the rows above disagree on.
  static std::string CheckList(std::string_view text);

 private:
  std::array<int64_t, std::size(kDifferenceRows)> applied_{};
};

}  // namespace vfsd::differential
