#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/printable.h"
#include "formats/report/report_writer.h"

namespace mtfc {
namespace {

// As in RFC 4180: quotes around text that contains a separator or a quote. A semicolon separates the cells in
// some countries.
std::string field(const std::string& text) {
  if (text.find_first_of(",;\"") == std::string::npos) return text;
  std::string result = "\"";
  for (const char letter : text) result += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return result + "\"";
}

using Fields = std::vector<std::pair<const char*, std::string>>;

void add_line(std::string& csv, const Fields& fields) {
  if (csv.empty()) {
    for (const auto& [name, value] : fields) csv += (csv.empty() ? "" : ",") + std::string(name);
    csv += "\n";
  }
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + field(fields[i].second);
  csv += line + "\n";
}

// A name or a sentence. A spreadsheet would compute a text that begins like a formula; the apostrophe says
// that it is none.
std::string words(const std::string& text) {
  const std::string shown = printable(text);
  for (const char* sign : {"=", "+", "-", "@", "＝", "＋", "－", "＠"})
    if (shown.starts_with(sign)) return "'" + shown;
  return shown;
}

std::string number(int64_t value) {
  return fmt::format("{}", value);
}

std::string seconds(double value) {
  return fmt::format("{}", value);
}

Fields which(const ComparedLayout& layout, size_t given) {
  return {{"number", number(static_cast<int64_t>(given))},
          {"model", words(layout.model)},
          {"mesh", words(to_string(layout.layout.mesh))},
          {"layout", words(to_string(layout.layout))},
          {"devices", number(layout.layout.mesh.devices())}};
}

// The fields are empty, in the same columns, if the layout is not possible.
Fields totals(const ComparedLayout& layout, size_t rank) {
  const bool possible = layout.report.has_value();
  const CostReport report = layout.report.value_or(CostReport{});
  const std::optional<NodeTotals>& nodes = report.communication.between_nodes;
  Fields fields = {
      {"entry", words(report.entry)},
      {"rank", number(static_cast<int64_t>(rank) + 1)},
      {"hardware", report.time ? words(report.time->hardware) : ""},
      {"step_s", seconds(report.time ? report.time->step_s : 0)},
      {"compute_s", seconds(report.time ? report.time->compute_s : 0)},
      {"communication_s", seconds(report.time ? report.time->communication_s : 0)},
      {"roofline_s", seconds(report.time ? report.time->roofline_s : 0)},
      {"efficiency", seconds(report.time ? report.time->efficiency : 0)},
      {"parameters", number(report.parameters.count)},
      {"parameter_bytes_per_device", number(report.parameters.bytes_per_device)},
      {"einsum_flops_per_device", number(report.arithmetic.einsum_per_device)},
      {"einsum_flops_total", number(report.arithmetic.einsum_total)},
      {"einsum_flops_useful", number(report.arithmetic.einsum_useful)},
      {"duplication", fmt::format("{}", report.arithmetic.duplication)},
      {"imbalance", fmt::format("{}", report.arithmetic.imbalance)},
      {"other_flops_per_device", number(report.arithmetic.other_per_device)},
      {"collectives", number(report.communication.total.count)},
      {"elements_per_device", number(report.communication.total.elements)},
      {"bytes_sent_per_device", number(report.communication.total.bytes_sent)},
      {"bytes_sent_per_node", nodes ? number(nodes->most()) : ""},
      {"plan_cost", number(plan_cost(report))},
      {"plan_bound", report.plan && report.plan->hardware.empty() ? number(report.plan->bound) : ""},
      {"peak_bytes_per_device", number(report.memory.peak)},
      {"device_bytes", report.device_memory > 0 ? number(report.device_memory) : ""},
      {"fits", report.device_memory == 0    ? ""
               : excess_memory(report) == 0 ? "yes"
                                            : "no"},
      {"excess_bytes", report.device_memory > 0 ? number(excess_memory(report)) : ""},
      {"variables_bytes", number(report.memory.variables)},
      {"optimizer_state_bytes", number(report.memory.optimizer_state)},
      {"caches_bytes", number(report.memory.caches)},
      {"inputs_bytes", number(report.memory.inputs)},
      {"activations_at_peak_bytes", number(report.memory.activations_at_peak)},
      {"gradients_bytes", number(report.memory.gradients)},
      {"workspace_bytes", number(report.memory.workspace)},
      {"alignment_and_gaps_bytes", number(report.memory.gaps)}};
  const TrainingCost training = report.training.value_or(TrainingCost{});
  const auto if_planned = [&](double value) { return training.tokens ? seconds(value) : std::string(); };
  const Fields planned = {{"tokens_per_step", report.training ? number(training.tokens_per_step) : ""},
                          {"tokens_per_second", report.training ? seconds(training.tokens_per_second) : ""},
                          {"training_steps", if_planned(training.steps)},
                          {"training_seconds", if_planned(training.seconds)},
                          {"training_device_hours", if_planned(training.device_hours)},
                          {"training_price", training.price ? seconds(*training.price) : ""}};
  fields.insert(fields.end(), planned.begin(), planned.end());
  for (auto& [name, value] : fields) {
    const bool of_time = std::string_view(name).ends_with("_s") || std::string_view(name) == "efficiency";
    if (!possible || (of_time && !report.time)) value.clear();
  }
  fields.emplace_back("not_possible", words(layout.reason));
  return fields;
}

Fields step_fields(const CostReport& report, const StepCost& step) {
  return {{"entry", words(report.entry)},
          {"step", number(step.index)},
          {"name", words(step.name)},
          {"kind", words(step.kind)},
          {"source", words(step.source)},
          {"phase", to_string(step.phase)},
          {"axes", words(report.layout.mesh.names(step.axes))},
          {"runs", number(step.count.runs)},
          {"flops", number(step.count.flops)},
          {"elements", number(step.count.elements)},
          {"bytes_sent", number(step.count.bytes_sent)},
          {"bytes_alive", number(bytes_alive(report, step))},
          {"seconds", report.time ? seconds(step.time.seconds) : ""},
          {"bound", step.time.bound}};
}

Fields joined(Fields first, const Fields& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace

std::string report_csv(const std::vector<ComparedLayout>& layouts, std::optional<size_t> top) {
  std::string csv;
  const std::vector<size_t> order = best_first(layouts);
  for (size_t i = 0; i < layouts.size(); ++i) {
    const Fields head = which(layouts[i], number_of(layouts, i));
    if (!top) {
      const auto rank = static_cast<size_t>(std::find(order.begin(), order.end(), i) - order.begin());
      add_line(csv, joined(head, totals(layouts[i], rank)));
      continue;
    }
    if (!layouts[i].report) continue;
    const CostReport& report = *layouts[i].report;
    const std::vector<size_t> costliest = costliest_steps(report);
    for (size_t s = 0; s < std::min(*top, costliest.size()); ++s)
      add_line(csv, joined(head, step_fields(report, report.steps[costliest[s]])));
  }
  return csv;
}

}  // namespace mtfc
