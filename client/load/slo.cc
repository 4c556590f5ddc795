#include "client/load/slo.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "client/load/duration.h"

namespace vfsload {
namespace {

std::optional<double> ParseNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() ||
      !(number >= 0 && number <= 1e12)) {
    return std::nullopt;
  }
  return number;
}

double Share(uint64_t part, double whole) {
  return whole > 0 ? 100 * static_cast<double>(part) / whole : 0;
}

}  // namespace

std::expected<Slo::Condition, std::string> Slo::ParseCondition(
    std::string_view text) {
  const auto bad = [text](std::string_view why) {
    return std::unexpected(fmt::format(
        "'{}' is no condition: {} (such as p99<2ms, errors<0.1%, ops>5000)",
        text, why));
  };
  const size_t sign = text.find_first_of("<>");
  if (sign == std::string_view::npos) return bad("there is no < or >");
  Condition condition;
  condition.text = text;
  condition.below = text[sign] == '<';
  const std::string_view name = text.substr(0, sign);
  std::string_view limit = text.substr(sign + 1);
  condition.or_equal = limit.starts_with('=');
  if (condition.or_equal) limit.remove_prefix(1);

  constexpr auto kShares = std::to_array<std::pair<std::string_view, Measure>>(
      {{"errors", Measure::kErrors},
       {"dropped", Measure::kDropped},
       {"late", Measure::kLate}});
  const auto share = std::ranges::find(
      kShares, name, &std::pair<std::string_view, Measure>::first);
  if (share != kShares.end()) {
    condition.measure = share->second;
    const auto number = limit.ends_with('%')
                            ? ParseNumber(limit.substr(0, limit.size() - 1))
                            : std::nullopt;
    if (!number) return bad("want a share in per cent");
    condition.limit = *number;
    return condition;
  }
  if (name == "ops") {
    condition.measure = Measure::kRate;
    const auto number = ParseNumber(limit);
    if (!number) return bad("want operations a second");
    condition.limit = *number;
    return condition;
  }
  std::optional<double> percent;
  if (name == "max") {
    percent = 100;
  } else if (name.starts_with('p')) {
    percent = ParseNumber(name.substr(1));
  }
  if (!percent || *percent > 100) return bad("there is no such measure");
  condition.quantile = *percent / 100;
  const auto duration = ParseDuration(limit);
  if (!duration) return bad(duration.error());
  condition.limit = std::chrono::duration<double>(*duration).count();
  return condition;
}

std::expected<Slo, std::string> Slo::Parse(std::string_view text) {
  Slo slo;
  while (true) {
    const size_t comma = text.find(',');
    auto condition = ParseCondition(text.substr(0, comma));
    if (!condition) return std::unexpected(condition.error());
    slo.conditions_.push_back(*std::move(condition));
    if (comma == std::string_view::npos) return slo;
    text.remove_prefix(comma + 1);
  }
}

std::vector<SloVerdict> Slo::Judge(const PhaseResult& result) const {
  const Totals& totals = result.totals;
  const uint64_t operations = totals.Operations();
  uint64_t failed = 0;
  for (const uint64_t count : totals.failed) failed += count;
  const double seconds = std::chrono::duration<double>(result.measured).count();
  const LatencyHistogram latency =
      result.options.open_loop ? totals.Response() : totals.Latency();
  std::vector<SloVerdict> verdicts;
  for (const Condition& condition : conditions_) {
    double value = 0;
    std::string text;
    switch (condition.measure) {
      case Measure::kQuantile: {
        const auto quantile = latency.Quantile(condition.quantile);
        value = std::chrono::duration<double>(quantile).count();
        text = DurationText(quantile);
        break;
      }
      case Measure::kErrors:
        value = Share(totals.wrong + failed,
                      static_cast<double>(operations + failed));
        text = fmt::format("{:.3g} %", value);
        break;
      case Measure::kDropped:
      case Measure::kLate:
        value = Share(condition.measure == Measure::kLate ? totals.late
                                                          : totals.Dropped(),
                      static_cast<double>(totals.scheduled));
        text = fmt::format("{:.3g} %", value);
        break;
      case Measure::kRate:
        value = seconds > 0 ? static_cast<double>(operations) / seconds : 0;
        text = fmt::format("{:.0f}", value);
        break;
    }
    // Nothing measured meets nothing.
    const bool met =
        operations > 0 && ((condition.below ? value < condition.limit
                                            : value > condition.limit) ||
                           (condition.or_equal && value == condition.limit));
    verdicts.push_back({condition.text, std::move(text), met});
  }
  return verdicts;
}

bool AllMet(const std::vector<SloVerdict>& verdicts) {
  return std::ranges::all_of(verdicts, &SloVerdict::met);
}

}  // namespace vfsload
