#pragma once
// Cost reports as JSON, and their totals as a table for the terminal.

#include <string>
#include <vector>

#include "core/cost.h"

namespace mtfc {

/// One report as an object, several as a list. The same reports give the same bytes.
std::string report_json(const std::vector<CostReport>& reports);

/// The totals of all reports side by side, at most 80 columns wide: what does not fit beside goes below.
std::string report_table(const std::vector<CostReport>& reports);

/// What a run took, beside what its program counted.
struct RunFacts {
  int64_t arena_bytes = 0;     // per device, as allocated
  int64_t resident_bytes = 0;  // of the largest process, shared pages counted in parts (Pss)
};
/// {"predicted": report, "measured": report, "run": facts}: both reports with the keys of report_json.
std::string run_report_json(const CostReport& predicted, const CostReport& measured, const RunFacts& facts);

}  // namespace mtfc
