#pragma once
// Several layouts of one model beside one another: which is best, and which can't be.
//
// Best is the shortest predicted step where there is a prediction, else the fewest bytes sent per device,
// then the least memory, then the first that was given. Layouts that can't be come last, with their reason.

#include <optional>
#include <string>
#include <vector>

#include "core/cost/cost.h"
#include "core/cost/device_order.h"

namespace mtfc {

/// A layout that was asked about, and what became of it: exactly one of `report` and `reason`.
struct ComparedLayout {
  std::string model;
  Layout layout;
  std::optional<CostReport> report;
  std::string reason;                  // why the model can't be laid out so
  std::optional<ProposedOrder> order;  // a device order with which a step is shorter
};

/// The layouts that are possible, in the order given.
std::vector<CostReport> possible(const std::vector<ComparedLayout>& layouts);

/// Indices into `layouts`, the best first.
std::vector<size_t> best_first(const std::vector<ComparedLayout>& layouts);

/// Indices into `report.steps`, the costliest first: those that take longest, and without a prediction those
/// that take most of the arithmetic, or of the bytes that are sent, whichever is more.
std::vector<size_t> costliest_steps(const CostReport& report);

}  // namespace mtfc
