#include <fmt/format.h>

#include <algorithm>

#include "formats/report/html_sections.h"
#include "formats/report/report_writer.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kLarge = 5;  // tiles

struct Figure {
  std::string name, value;
  bool is_bad = false;
};

std::string tiles(const std::vector<Figure>& figures, const char* form) {
  std::string html = fmt::format("<dl class=\"{}\">", form);
  for (const Figure& figure : figures)
    html += fmt::format("<div{}><dt>{}</dt><dd>{}</dd></div>\n", figure.is_bad ? " class=bad" : "",
                        figure.name, figure.value);
  return html + "</dl>";
}

std::string on_devices(const CostReport& report) {
  const int64_t devices = report.layout.mesh.devices();
  return devices == 1 ? "one device" : grouped(devices) + " devices";
}

// The share of the step in which no kernel runs, in percent.
double waiting_share(const TimeCost& time) {
  return time.step_s > 0 ? 100 * std::max(0.0, time.step_s - time.compute_s) / time.step_s : 0;
}

// In the order of what most people look for.
std::vector<Figure> all_figures(const CostReport& report) {
  std::vector<Figure> found;
  if (report.time)
    found.push_back({"a step, on " + html_escaped(report.time->hardware), seconds_text(report.time->step_s)});
  if (report.training)
    found.push_back({"tokens per second", amount_text(report.training->tokens_per_second)});
  const bool is_over = report.device_memory > 0 && report.memory.peak > report.device_memory;
  found.push_back({report.device_memory > 0
                       ? fmt::format("memory at the peak; a device has {}", memory_text(report.device_memory))
                       : "memory at the peak, per device",
                   bytes_in(report, report.memory.peak), is_over});
  found.push_back({"sent per device", bytes_in(report, report.communication.total.bytes_sent)});
  if (report.time)
    found.push_back({"efficiency (MFU)", fmt::format("{:.3g} %", 100 * report.time->efficiency)});
  found.push_back({"einsum per device", count_text(report.arithmetic.einsum_per_device, "FLOP")});
  found.push_back({"devices", grouped(report.layout.mesh.devices())});
  found.push_back({"parameters", count_text(report.parameters.count, "")});
  if (report.time) {
    found.push_back({"kernels", seconds_text(report.time->compute_s)});
    found.push_back({"communication", seconds_text(report.time->communication_s)});
  }
  if (report.training && report.training->tokens)
    found.push_back({"for all tokens", duration_text(report.training->seconds)});
  if (report.training && report.training->price)
    found.push_back({"price", amount_text(*report.training->price)});
  found.push_back({"duplication", fmt::format("{:.3g}", report.arithmetic.duplication)});
  found.push_back({"imbalance", fmt::format("{:.3g}", report.arithmetic.imbalance)});
  if (const auto& nodes = report.communication.between_nodes)
    found.push_back({"sent to other nodes, per node", bytes_in(report, nodes->most())});
  found.push_back({"collectives", grouped(report.communication.total.count)});
  if (report.plan) {
    found.push_back({"plan cost", report.plan->hardware.empty() ? grouped(plan_cost(report))
                                                                : seconds_text(plan_seconds(*report.plan))});
    found.push_back({"above the bound by", plan_gap_text(*report.plan)});
  }
  found.push_back({"variables and state, of the memory",
                   bytes_in(report, report.memory.variables + report.memory.optimizer_state)});
  return found;
}

// `None of the 3 layouts fits`, and what the smallest, which is the first of the order, lacks.
std::string none_fits(const std::vector<ComparedLayout>& layouts, size_t smallest, int64_t possible) {
  if (possible == 0) return "None of the layouts is possible";
  const CostReport& report = *layouts[smallest].report;
  std::string text = possible == 1   ? "The only layout"
                     : possible == 2 ? "Neither of the 2 layouts"
                                     : fmt::format("None of the {} layouts", grouped(possible));
  if (possible < static_cast<int64_t>(layouts.size()))
    text += possible == 1 ? " that is possible" : " that are possible";
  text += possible == 1 ? " does not fit" : " fits";
  return fmt::format(
      "{}: {} needs {} of memory, {} more than a device has", text,
      possible == 1 ? "it" : fmt::format("number {}, the smallest,", number_of(layouts, smallest)),
      bytes_in(report, report.memory.peak), bytes_in(report, excess_memory(report)));
}

}  // namespace

std::string verdict(const CostReport& report) {
  const std::string peak = bytes_in(report, report.memory.peak);
  std::string text;
  if (const int64_t excess = excess_memory(report); excess > 0)
    text = fmt::format("<strong>Does not fit:</strong> a device needs {} of memory, {} more than it has. ",
                       peak, bytes_in(report, excess));
  const std::string form = text.empty() ? "verdict" : "verdict bad";
  if (report.time)
    text += fmt::format("A step takes {} on {} of {}, {:.0f} % of it communication that kernels do not hide",
                        seconds_text(report.time->step_s), on_devices(report),
                        html_escaped(report.time->hardware), waiting_share(*report.time));
  else
    text += fmt::format("A step computes {} in einsums and sends {} on each of {}",
                        count_text(report.arithmetic.einsum_per_device, "FLOP"),
                        bytes_in(report, report.communication.total.bytes_sent), on_devices(report));
  if (form == "verdict")
    text += report.device_memory > 0
                ? fmt::format("; it fits, with {} of a device's {}", peak, memory_text(report.device_memory))
                : fmt::format(", and needs {} of memory", peak);
  return fmt::format("<p class=\"{}\">{}.</p>\n", form, text);
}

std::string figures(const CostReport& report) {
  std::vector<Figure> all = all_figures(report);
  const std::vector<Figure> large(all.begin(),
                                  all.begin() + static_cast<ptrdiff_t>(std::min(kLarge, all.size())));
  all.erase(all.begin(), all.begin() + static_cast<ptrdiff_t>(large.size()));
  return tiles(large, "figures large") + "<details class=more><summary>More figures</summary>" +
         tiles(all, "figures") + "</details>\n";
}

std::string comparison_verdict(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order) {
  const auto count = [&](auto is) {
    return static_cast<int64_t>(std::count_if(layouts.begin(), layouts.end(), is));
  };
  const int64_t impossible = count([](const ComparedLayout& layout) { return !layout.report; });
  const int64_t too_large =
      count([](const ComparedLayout& layout) { return layout.report && excess_memory(*layout.report) > 0; });
  const auto all = static_cast<int64_t>(layouts.size());
  std::string text, form = "verdict";
  if (has_best(layouts)) {
    const CostReport& best = *layouts[order.front()].report;
    text = fmt::format(
        "Of {} layouts, number {} is the best: <strong>{}</strong>, {} a step and {} of memory on each of {}",
        grouped(all), number_of(layouts, order.front()), layout_markup(best.layout),
        best.time ? seconds_text(best.time->step_s)
                  : count_text(best.arithmetic.einsum_per_device, "FLOP") + " in einsums",
        bytes_in(best, best.memory.peak), on_devices(best));
    if (too_large > 0)
      text += fmt::format("; {} {} not fit", grouped(too_large), too_large == 1 ? "does" : "do");
  } else {
    text = none_fits(layouts, order.front(), all - impossible);
    form += " bad";
  }
  if (impossible > 0)
    text += fmt::format("; {} {} not possible", grouped(impossible), impossible == 1 ? "is" : "are");
  return fmt::format("<p class=\"{}\">{}.</p>\n", form, text);
}

}  // namespace mtfc
