#pragma once
// HTML pages: C++ counts, orders and writes each figure as text, and the scripts of formats/report/page/ draw. What
// they draw is JSON in the page.

#include <cstdint>
#include <string>

#include "formats/json/ordered_json.h"
#include "formats/report/report_writer.h"

namespace mtfc {

/// The page that its script draws from `data`. Without a script it shows `text`, as the terminal does. Names in all of
/// them may be anybody's.
std::string html_page(const std::string& title, const Json& data, const std::string& text);

double rounded(double number, int digits = 6);
/// [number, text]: a number to sort by and to draw, and what people read.
Json figure(double number, const std::string& text);
Json figure(int64_t count);  // all digits
Json seconds_figure(double seconds);
Json bytes_figure(const CostReport& report, int64_t bytes);

/// All that a page shows of a layout in detail: the mesh, totals, a step over time, the costliest operations, the
/// collectives, the memory, and tensors with their shards. What differs only in the number of a repeated block is one
/// row. The size does not depend on the number of steps.
Json layout_details(const ComparedLayout& layout, const PageOptions& options);
/// The rows of the table in the terminal, [label, text], and the parts of the memory at the peak as `--format json` has
/// them.
Json figures_json(const CostReport& report);
Json memory_json(const CostReport& report);

}  // namespace mtfc
