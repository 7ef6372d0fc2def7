#pragma once
// The sections of an HTML report about one layout, and what stands before and after them. Each function returns markup,
// or "" if it has nothing to show.
//
// Rows that differ only in the number of a repeated block are one row, which can be opened. Labels stand beside
// drawings rather than in them, so that they stay readable on a phone.

#include <cstdint>
#include <string>
#include <vector>

#include "core/cost/comparison.h"
#include "core/program/reshard_groups.h"
#include "formats/report/report_writer.h"

namespace mtfc {

/// `mesh / rules`, which may break after a comma.
std::string layout_markup(const Layout& layout);
/// The quantity that bars of time show: the seconds of a step, or without times the arithmetic.
double work_of(const CostReport& report);

/// What the report comes to, in a sentence: whether the program fits, and how long a step takes.
std::string verdict(const CostReport& report);
/// The main figures in large tiles, and the others folded.
std::string figures(const CostReport& report);
/// Which layout is the best, in a sentence, and how many do not fit or are not possible.
std::string comparison_verdict(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order);

/// A table of all layouts with bars, the best first. Those of which a `details-N` is in the page are links to it.
std::string comparison_table(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order,
                             size_t in_detail);
/// Each layout as a point, by its number, if there are enough of them: the shorter its step, the further left, and the
/// less memory, the further down.
std::string comparison_points(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order);

/// The devices as a grid of their ranks, cut into nodes of `ranks_per_node` consecutive ranks (0: not known); and a
/// table of the axes. Long sides are shortened in the middle.
std::string mesh_drawing(const Layout& layout, int64_t ranks_per_node);

/// Times and bytes by kind of step, by axes, and by blocks down to the depth `parts` of their scopes.
std::string totals_tables(const CostReport& report, size_t parts);

/// The kernels and collectives of a step, and the memory of the device meanwhile, over one axis of time; without times,
/// the memory over the steps.
std::string step_drawing(const CostReport& report);

/// All parts of the memory at the peak, to the byte.
std::string memory_table(const MemoryCost& memory);
/// The `top` largest tensors alive at the peak.
std::string alive_table(const CostReport& report, size_t top);

/// The first `top` groups, with the operations that each connects. `section` is the number of the layout in the page.
std::string collectives_table(const CostReport& report, size_t section,
                              const std::vector<CollectiveGroup>& groups, size_t top);
/// The `top` costliest steps. The kinds of those collectives that the page lists are links to them.
std::string operations_table(const CostReport& report, size_t section,
                             const std::vector<CollectiveGroup>& groups, size_t top);

/// Where the figures come from: the command, the version, the hardware.
std::string origin_list(const ReportOrigin& origin, const std::string& model);

}  // namespace mtfc
