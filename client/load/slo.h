// What a run has to meet, as people type it: "p99<2ms,errors<0.1%,ops>5000".
//
//   p50 p90 p99 p99.9 max   latency: response time in an open loop, service
//                           time in a closed one (of calls or messages)
//   errors                  wrong answers and calls without an answer, of all
//   dropped, late           of what an open loop planned
//   ops                     operations a second
//
// Shares are in per cent. A plain value.
#ifndef CLIENT_LOAD_SLO_H_
#define CLIENT_LOAD_SLO_H_

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "client/load/phase.h"

namespace vfsload {

struct SloVerdict {
  // As it was typed: "p99<2ms".
  std::string condition;
  // What was measured: "1.53 ms".
  std::string measured;
  bool met = false;
};

class Slo {
 public:
  // The error is for people.
  static std::expected<Slo, std::string> Parse(std::string_view text);

  bool empty() const { return conditions_.empty(); }
  std::vector<SloVerdict> Judge(const PhaseResult& result) const;

 private:
  enum class Measure { kQuantile, kErrors, kDropped, kLate, kRate };
  struct Condition {
    std::string text;
    Measure measure = Measure::kQuantile;
    double quantile = 0;
    bool below = true;
    bool or_equal = false;
    double limit = 0;  // seconds, per cent or operations a second
  };

  static std::expected<Condition, std::string> ParseCondition(
      std::string_view text);

  std::vector<Condition> conditions_;
};

bool AllMet(const std::vector<SloVerdict>& verdicts);

}  // namespace vfsload

#endif  // CLIENT_LOAD_SLO_H_
