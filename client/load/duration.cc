#include "client/load/duration.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace vfsload {
namespace {

// Longer units first, so that "ms" is not read as "m".
constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
    {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}}};

// Some 30 years: far from overflow.
constexpr double kMaxNanoseconds = 1e18;

}  // namespace

std::expected<std::chrono::nanoseconds, std::string> ParseDuration(
    std::string_view text) {
  if (text == "0") return std::chrono::nanoseconds(0);
  const auto bad = [text](std::string_view why) {
    return std::unexpected(fmt::format(
        "'{}' is no duration: {} (want for example 10s, 500ms or 1m30s)", text,
        why));
  };
  if (text.empty()) return bad("it is empty");
  double total = 0;
  for (std::string_view rest = text; !rest.empty();) {
    double number = 0;
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), number,
                        std::chars_format::fixed);
    if (error != std::errc() || !(number >= 0)) {
      return bad("a number is missing");
    }
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    double factor = 0;
    for (const auto& [unit, nanoseconds] : kUnits) {
      if (rest.starts_with(unit)) {
        factor = nanoseconds;
        rest.remove_prefix(unit.size());
        break;
      }
    }
    if (factor == 0) return bad("the unit is none of us, ms, s, m, h");
    total += number * factor;
  }
  if (total > kMaxNanoseconds) return bad("it is too long");
  return std::chrono::nanoseconds(static_cast<int64_t>(total + 0.5));
}

std::string DurationText(std::chrono::nanoseconds duration) {
  const auto ns = static_cast<double>(duration.count());
  const auto three_digits = [](double value, std::string_view unit) {
    const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, decimals, unit);
  };
  if (ns < 1e6) return three_digits(ns / 1e3, "us");
  if (ns < 1e9) return three_digits(ns / 1e6, "ms");
  return three_digits(ns / 1e9, "s");
}

}  // namespace vfsload
