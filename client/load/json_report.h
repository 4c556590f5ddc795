// The results of a run for programs.
//
// The document's "schema" is "vfsload.run/1". Fields are only added under that
// name; a change of meaning makes it "/2". Times are in the unit that the field
// ends with. A pure function.
#ifndef CLIENT_LOAD_JSON_REPORT_H_
#define CLIENT_LOAD_JSON_REPORT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "client/load/phase.h"
#include "client/load/slo.h"

namespace vfsload {

inline constexpr std::string_view kJsonSchema = "vfsload.run/1";

struct RunHeader {
  std::string run_id;
  std::string target;
  // "2026-01-31T12:00:00Z".
  std::string started;
  bool interrupted = false;
  int exit_status = 0;
  Slo slo;
};

nlohmann::ordered_json JsonReport(const RunHeader& header,
                                  const std::vector<PhaseResult>& results);

}  // namespace vfsload

#endif  // CLIENT_LOAD_JSON_REPORT_H_
