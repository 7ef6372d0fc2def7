#include "core/cost/part_times.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/program/repeated_names.h"

namespace mtfc {
namespace {

// Names of operations that training adds end in those of the operations that make them up.
constexpr std::string_view kGradient = "grad";
constexpr size_t kAddedByUpdate = 2;  // w/adamw/sub

std::string part_of(const StepCost& step, size_t depth) {
  std::vector<std::string> components;
  std::string name = step.name.substr(0, step.name.find('@'));
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    components.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  components.erase(std::find(components.begin(), components.end(), kGradient), components.end());
  // The operations of y.0, which is a part of the tensor y, have names such as y.0/exp.
  const auto inner = std::find_if(components.begin(), components.end(), [](const std::string& component) {
    return component.find('.') != std::string::npos;
  });
  if (inner != components.end()) components.erase(inner + 1, components.end());
  const size_t own = step.phase == Phase::kUpdate ? 1 + kAddedByUpdate : 1;
  const size_t scopes = components.size() > own ? components.size() - own : 0;
  std::string part;
  for (size_t i = 0; i < std::min(depth, scopes); ++i) part += (i > 0 ? "/" : "") + components[i];
  return part;
}

}  // namespace

std::vector<PartTime> part_times(const CostReport& report, size_t depth) {
  struct Part {
    PartTime time;
    std::set<std::string> names;
  };
  std::map<std::string, Part> found;
  for (const StepCost& step : report.steps) {
    if (step.time.at_peak_s <= 0 && step.time.seconds <= 0) continue;
    const std::string name = part_of(step, depth);
    auto& [part, names] = found[unnumbered(name)];
    names.insert(name);
    (step.axes.empty() ? part.kernels_s : part.collectives_s) += step.time.seconds;
    part.at_peak_s += step.time.at_peak_s;
    part.bytes_sent += step.count.bytes_sent;
  }
  std::vector<PartTime> parts;
  for (auto& [form, part] : found) {
    part.time.part = form;
    part.time.names.assign(part.names.begin(), part.names.end());
    parts.push_back(std::move(part.time));
  }
  std::stable_sort(parts.begin(), parts.end(), [](const PartTime& a, const PartTime& b) {
    return a.kernels_s + a.collectives_s > b.kernels_s + b.collectives_s;
  });
  return parts;
}

}  // namespace mtfc
