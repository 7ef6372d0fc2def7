#include "core/cost/comparison.h"

#include <algorithm>
#include <numeric>

namespace mtfc {
namespace {

bool is_better(const CostReport& a, const CostReport& b) {
  if (a.time && b.time && a.time->step_s != b.time->step_s) return a.time->step_s < b.time->step_s;
  if (a.communication.total.bytes_sent != b.communication.total.bytes_sent)
    return a.communication.total.bytes_sent < b.communication.total.bytes_sent;
  return a.memory.peak < b.memory.peak;
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::vector<CostReport> possible(const std::vector<ComparedLayout>& layouts) {
  std::vector<CostReport> reports;
  for (const ComparedLayout& layout : layouts)
    if (layout.report) reports.push_back(*layout.report);
  return reports;
}

std::vector<size_t> best_first(const std::vector<ComparedLayout>& layouts) {
  std::vector<size_t> order(layouts.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const auto &left = layouts[a].report, &right = layouts[b].report;
    if (!left || !right) return left.has_value() && !right;
    return is_better(*left, *right);
  });
  return order;
}

std::vector<size_t> costliest_steps(const CostReport& report) {
  const int64_t flops = report.arithmetic.einsum_per_device + report.arithmetic.other_per_device;
  std::vector<double> shares;
  for (const StepCost& step : report.steps)
    shares.push_back(report.time
                         ? step.time.seconds
                         : std::max(share(step.count.flops, flops),
                                    share(step.count.bytes_sent, report.communication.total.bytes_sent)));
  std::vector<size_t> order(report.steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shares[a] > shares[b]; });
  return order;
}

}  // namespace mtfc
