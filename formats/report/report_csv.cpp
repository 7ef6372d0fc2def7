#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/printable.h"
#include "formats/report/report_figures.h"
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

void add_figures(Fields& fields, std::string_view group, const CostReport& report) {
  for (const ReportFigure& figure : figures_of(group)) {
    if (!*figure.column) continue;
    const std::string digits = figure_digits(figure, report);
    fields.emplace_back(figure.column, figure.unit == FigureUnit::kName ? words(digits) : digits);
  }
}

// The fields are empty, in the same columns, if the layout is not possible.
Fields totals(const ComparedLayout& layout, size_t rank) {
  const CostReport report = layout.report.value_or(CostReport{});
  Fields fields = {{"entry", words(report.entry)}, {"rank", number(static_cast<int64_t>(rank) + 1)}};
  for (const char* group : {"time", "parameters", "flops", "communication", "communication/between_nodes"})
    add_figures(fields, group, report);
  fields.emplace_back("plan_cost", number(plan_cost(report)));
  fields.emplace_back("plan_bound",
                      report.plan && report.plan->hardware.empty() ? number(report.plan->bound) : "");
  for (const char* group : {"memory", "training"}) add_figures(fields, group, report);
  if (!layout.report)
    for (auto& [name, value] : fields) value.clear();
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
