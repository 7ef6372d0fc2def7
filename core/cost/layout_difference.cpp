#include "core/cost/layout_difference.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace mtfc {
namespace {

std::map<std::string, double> times_of(const CostReport& report) {
  std::map<std::string, double> times;
  double sum = 0;
  for (const StepCost& step : report.steps) {
    const bool computes = step.axes.empty();
    times[!computes         ? step.kind + " over " + report.layout.mesh.names(step.axes)
          : step.is_product ? "products"
                            : "other kernels"] += step.time.seconds;
    sum += step.time.seconds;
  }
  times["overlap"] = report.time->step_s - sum;
  return times;
}

}  // namespace

std::vector<TimeDifference> time_differences(const CostReport& best, const CostReport& other) {
  std::map<std::string, double> times = times_of(other);
  for (const auto& [what, seconds] : times_of(best)) times[what] -= seconds;
  std::vector<TimeDifference> differences;
  for (const auto& [what, seconds] : times) differences.push_back({what, seconds});
  std::stable_sort(differences.begin(), differences.end(),
                   [](const TimeDifference& a, const TimeDifference& b) {
                     return std::abs(a.seconds) > std::abs(b.seconds);
                   });
  return differences;
}

std::string rule_differences(const Layout& best, const Layout& other) {
  std::string text;
  const auto say = [&](const std::string& dim, const Rule* rule) {
    text += (text.empty() ? "" : ", ") + dim +
            (rule ? " over " + other.mesh.names(rule->axes) : std::string(" whole"));
  };
  for (const Rule& rule : best.rules) {
    const Rule* mine = find_rule(other, rule.dim);
    if (!mine || mine->axes != rule.axes) say(rule.dim, mine);
  }
  for (const Rule& rule : other.rules)
    if (!find_rule(best, rule.dim)) say(rule.dim, &rule);
  return text;
}

}  // namespace mtfc
