#include "core/cost/comparison.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace mtfc {
namespace {

bool is_better(const CostReport& a, const CostReport& b) {
  if (excess_memory(a) != excess_memory(b)) return excess_memory(a) < excess_memory(b);
  if (a.time && b.time && a.time->step_s != b.time->step_s) return a.time->step_s < b.time->step_s;
  if (a.communication.total.bytes_sent != b.communication.total.bytes_sent)
    return a.communication.total.bytes_sent < b.communication.total.bytes_sent;
  return a.memory.peak < b.memory.peak;
}

double share(int64_t part, int64_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

size_t number_of(const std::vector<ComparedLayout>& layouts, size_t index) {
  return layouts[index].number > 0 ? layouts[index].number : index + 1;
}

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

bool has_best(const std::vector<ComparedLayout>& layouts) {
  return std::any_of(layouts.begin(), layouts.end(), [](const ComparedLayout& layout) {
    return layout.report && excess_memory(*layout.report) == 0;
  });
}

std::vector<size_t> pareto_front(const std::vector<ComparedLayout>& layouts) {
  using Point = std::tuple<double, int64_t, int64_t>;
  const bool one_fits = has_best(layouts);
  std::vector<std::pair<Point, size_t>> points;
  for (size_t i = 0; i < layouts.size(); ++i) {
    const auto& report = layouts[i].report;
    if (!report || (one_fits && excess_memory(*report) > 0)) continue;
    const double time =
        report->time ? report->time->step_s : static_cast<double>(report->communication.total.bytes_sent);
    points.push_back({{time, report->memory.peak, layouts[i].layout.mesh.devices()}, i});
  }
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::pair<Point, size_t>> front;  // whatever dominates a point comes before it
  for (const auto& point : points) {
    const auto& [time, memory, devices] = point.first;
    const bool is_dominated = std::any_of(front.begin(), front.end(), [&](const auto& other) {
      return other.first != point.first && std::get<1>(other.first) <= memory &&
             std::get<2>(other.first) <= devices;
    });
    if (!is_dominated) front.push_back(point);
  }
  std::vector<size_t> indices;
  for (const auto& point : front) indices.push_back(point.second);
  return indices;
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
