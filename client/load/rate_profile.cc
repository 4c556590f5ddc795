#include "client/load/rate_profile.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace vfsload {
namespace {

constexpr double kMaxRate = 1e9;
constexpr size_t kMaxParts = 1000;

std::optional<double> ParseRate(std::string_view text) {
  double rate = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(rate > 0 && rate <= kMaxRate)) {
    return std::nullopt;
  }
  return rate;
}

double CountOf(const RateProfile::Part& part) {
  return part.seconds * (part.from + part.to) / 2;
}

}  // namespace

std::expected<RateProfile, std::string> RateProfile::Parse(
    std::string_view text, double seconds) {
  std::vector<Part> parts;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const size_t colon = part.find(':');
    const auto from = ParseRate(part.substr(0, colon));
    const auto to = colon == std::string_view::npos
                        ? from
                        : ParseRate(part.substr(colon + 1));
    if (!from || !to || parts.size() == kMaxParts) {
      return std::unexpected(fmt::format(
          "'{}' is no rate: want operations a second (above 0, at most 1e9) as "
          "R, steps R,R,... or a ramp FROM:TO",
          text));
    }
    parts.push_back({0, *from, *to});
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  for (Part& part : parts) {
    part.seconds = seconds / static_cast<double>(parts.size());
  }
  return RateProfile(std::string(text), std::move(parts));
}

RateProfile::RateProfile(std::string text, std::vector<Part> parts)
    : text_(std::move(text)), parts_(std::move(parts)) {}

double RateProfile::CountAt(double seconds) const {
  if (seconds <= 0) return seconds * parts_.front().from;
  double count = 0;
  for (const Part& part : parts_) {
    if (seconds < part.seconds) {
      const double slope = (part.to - part.from) / part.seconds;
      return count + seconds * (part.from + slope * seconds / 2);
    }
    count += CountOf(part);
    seconds -= part.seconds;
  }
  return count + seconds * parts_.back().to;
}

double RateProfile::TimeOf(double count) const {
  if (count <= 0) return count / parts_.front().from;
  double seconds = 0;
  for (const Part& part : parts_) {
    const double here = CountOf(part);
    if (count < here) {
      const double slope = (part.to - part.from) / part.seconds;
      // The root of slope/2 t^2 + from t - count, in the form that loses no
      // digits where the slope is small or zero.
      const double root = std::sqrt(part.from * part.from + 2 * slope * count);
      return seconds + 2 * count / (part.from + root);
    }
    count -= here;
    seconds += part.seconds;
  }
  return seconds + count / parts_.back().to;
}

}  // namespace vfsload
