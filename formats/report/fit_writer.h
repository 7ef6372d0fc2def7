#pragma once
// Writes what fits into the memory of a device, as a table for the terminal, as CSV and as JSON.

#include <string>

#include "core/search/fit_search.h"
#include "formats/report/report_writer.h"

namespace mtfc {

struct FitReport {
  const FitResult& result;
  std::string model;
  std::string hardware;
  int64_t memory_limit = 0;  // bytes per device
  double seconds = 0;        // duration of the search
};

/// A line for each way in which the step fits, the fewest devices first; then the numbers of devices on which nothing
/// does.
std::string fit_table(const FitReport& report, const TableOptions& options);
std::string fit_csv(const FitReport& report);
std::string fit_json(const FitReport& report);
std::string fit_schema();

}  // namespace mtfc
