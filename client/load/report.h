// What people see: the live line and the tables. Free functions that return
// text; nothing is printed here.
#ifndef CLIENT_LOAD_REPORT_H_
#define CLIENT_LOAD_REPORT_H_

#include <string>
#include <vector>

#include "client/load/phase.h"
#include "client/load/recorder.h"
#include "client/load/slo.h"

namespace vfsload {

// "12 s  openneg  unary  81,234 ops/s  p50 380 us  p99 812 us".
std::string LiveLine(const RunStatus::Description& description, double seconds,
                     const Totals& delta);

// The final table: a row a phase, and for mixes a row an operation below it;
// with the notes that say how to read it.
std::string Table(const std::vector<PhaseResult>& results);

// Each condition and whether each phase met it.
std::string SloTable(const std::vector<PhaseResult>& results, const Slo& slo);

// The table of a counted load: N threads, R units each, seconds.
std::string CountTable(const std::vector<PhaseResult>& results);

// What was wrong, a line each; empty when all was right.
std::string Complaints(const std::vector<PhaseResult>& results);

// "1,234,567".
std::string Grouped(uint64_t number);

// "ENOENT 1,234, EACCES 1"; "-" when there are none.
std::string ErrorsText(const Totals& totals);

}  // namespace vfsload

#endif  // CLIENT_LOAD_REPORT_H_
