#pragma once
// Writes the result of a search over layouts as a table for the terminal and as JSON.

#include <string>
#include <vector>

#include "core/cost/comparison.h"
#include "core/search/annotation_search.h"
#include "core/search/layout_search.h"
#include "formats/report/report_writer.h"

namespace mtfc {

struct SearchReport {
  const SearchResult& result;           // must have found a layout
  std::vector<ComparedLayout> layouts;  // result.best, in its order, with their reports
  int64_t memory_limit = 0;             // bytes per device; 0: none
  double seconds = 0;                   // duration of the search
};

/// A line for each layout; what needs to be known of single ones; and last the verdict, in one sentence. With details
/// also the totals side by side, like cost-report, why all but the first lose, and the extent of the search.
std::string search_table(const SearchReport& report, const TableOptions& options);
std::string search_json(const SearchReport& report);

/// The result of a search over annotations, the report of its layout, and what was searched.
struct AnnotationReport {
  const AnnotatedLayout& found;
  ComparedLayout layout;
  int64_t meshes = 1;  // that were searched
  int64_t most_axes = 1;
  double seconds = 0;  // duration of the search
};
std::string search_table(const AnnotationReport& report, const TableOptions& options);
std::string search_json(const AnnotationReport& report);
/// The JSON Schema of both outputs.
std::string search_schema();
/// `cost 1,234, the least of all annotations`.
std::string cost_text(const AnnotatedLayout& found);

/// `rows:2,cols:4 batch:rows`.
std::string layout_text(const Layout& layout);
/// Of a search that was stopped: how much faster another layout could be.
std::string stop_text(const SearchResult& result);
/// `+4.60 ms with heads whole: 6.1 ms more products, 1.5 ms less all_reduce over cols`.
std::string loss_text(const CostReport& best, const CostReport& other);

}  // namespace mtfc
