#pragma once
// Cost reports as JSON, as a table for the terminal, as CSV and as an HTML page.

#include <string>
#include <vector>

#include "core/cost/comparison.h"
#include "core/cost/cost.h"

namespace mtfc {

/// One report as an object, several as a list. The same reports give the same bytes.
std::string report_json(const std::vector<CostReport>& reports);

/// The same; a layout that is not possible is an object with its mesh, its rules and the reason,
/// `not_possible`.
std::string report_json(const std::vector<ComparedLayout>& layouts);

struct TableOptions {
  size_t width = 80;  // of a line
  size_t top = 10;    // operations, and tensors alive at the peak, of a single layout
};
/// One layout: totals, then what takes most of it, then the tensors alive at the peak. Several: a line each,
/// the best first, then the totals of as many as fit beside one another.
std::string report_table(const std::vector<ComparedLayout>& layouts, const TableOptions& options);

/// A line per layout, in the order given, with all totals. With `top`: a line per step instead, the `top`
/// costliest of each layout.
std::string report_csv(const std::vector<ComparedLayout>& layouts, std::optional<size_t> top);

/// One page that needs no network: bars that compare the layouts, and for the best of them the `top`
/// costliest steps, memory and time over the steps, and the tensors as matrices cut into the shards of the
/// ranks.
std::string report_html(const std::vector<ComparedLayout>& layouts, size_t top);

/// What a run took, beside what its program counted.
struct RunFacts {
  int64_t arena_bytes = 0;     // per device, as allocated
  int64_t resident_bytes = 0;  // of the largest process, shared pages counted in parts (Pss)
  int64_t ranks = 1;
  int64_t ranks_per_node = 1;
  int64_t threads_per_rank = 1;
  int64_t runs = 0;             // of the entry point, that the times below are means of
  double seconds_per_step = 0;  // all of a run: its inputs, its steps, agreement between ranks
  double input_seconds = 0;     // of that, to fill the inputs
  // One run of each step of the program: mean over devices, and the largest of any process.
  std::vector<double> mean_seconds, max_seconds;
};
/// {"predicted": report, "measured": report, "run": facts}: both reports with the keys of report_json. In
/// `run`, `time` has the times by kind of step and step by step, those of a collective with its start and its
/// wait apart, and beside them the predicted ones where `predicted` has times: of a collective what the
/// schedule leaves to wait for it.
std::string run_report_json(const EntryPoint& entry, const CostReport& predicted, const CostReport& measured,
                            const RunFacts& facts);

}  // namespace mtfc
