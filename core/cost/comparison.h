#pragma once
// The comparison of several layouts of one model: which is best, and which are not possible.
//
// The best layout fits into the memory of a device, and has the shortest predicted step. Without a prediction, it sends
// the fewest bytes per device, then needs the least memory, then was given first. Layouts that do not fit come after
// those that do, the one that exceeds the memory by least first. Impossible layouts come last, with the reason.

#include <optional>
#include <string>
#include <vector>

#include "core/cost/cost.h"
#include "core/cost/device_order.h"
#include "core/program/reshard_list.h"

namespace mtfc {

/// One of the compared layouts with its outcome: exactly one of `report` and `reason`.
struct ComparedLayout {
  std::string model;
  Layout layout;
  std::optional<CostReport> report;
  std::string reason;                      // why the layout is not possible for the model
  std::optional<ProposedOrder> order;      // a device order that makes the step shorter
  std::vector<ReshardStep> reshards = {};  // the collectives of the reported entry point
  size_t number = 0;                       // the place in which it was given, from 1, if others were left out
};

/// The number by which people know a layout: its place in `layouts`, from 1, or the place at which it was given, if
/// others were left out.
size_t number_of(const std::vector<ComparedLayout>& layouts, size_t index);

/// The reports of the possible layouts, in the order given.
std::vector<CostReport> possible(const std::vector<ComparedLayout>& layouts);

/// Indices into `layouts`, the best first.
std::vector<size_t> best_first(const std::vector<ComparedLayout>& layouts);

/// Returns whether the first of that order may be called the best: it is possible, and fits.
bool has_best(const std::vector<ComparedLayout>& layouts);

/// Indices of the layouts that no other one dominates, the shortest step first. A layout dominates another if it is as
/// good in the time of a step (without a prediction, in bytes sent), in the memory at the peak and in the number of
/// devices, and better in one of them, by however little. Layouts that do not fit are left out unless none fits;
/// layouts that are equal in all three stay together.
std::vector<size_t> pareto_front(const std::vector<ComparedLayout>& layouts);

/// Indices into `report.steps`, the costliest first: the longest, or, without a prediction, those with the
/// largest share of the arithmetic or of the bytes sent, whichever share is larger.
std::vector<size_t> costliest_steps(const CostReport& report);

}  // namespace mtfc
