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

}  // namespace mtfc
