#include <fmt/format.h>

#include <algorithm>

#include "core/diagnostics/printable.h"
#include "formats/report/html_page.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kMostInDetail = 8;  // layouts; in a sweep over hundreds, all have their bars

// What the comparison, the verdict and the tiles say of a layout.
Json costs_of(const CostReport& report) {
  const int64_t einsum = report.arithmetic.einsum_per_device, excess = excess_memory(report);
  Json costs = {{"einsum", Json::array({einsum, count_text(einsum, "FLOP")})},
                {"sent", bytes_figure(report, report.communication.total.bytes_sent)},
                {"memory", bytes_figure(report, report.memory.peak)},
                {"isDecimal", is_decimal(report.device_memory)}};
  if (report.device_memory > 0)
    costs["limit"] = Json::array({report.device_memory, memory_text(report.device_memory)});
  if (excess > 0) costs["excess"] = bytes_in(report, excess);
  if (const auto& time = report.time) {
    const double waiting = time->step_s > 0 ? std::max(0.0, 1 - time->compute_s / time->step_s) : 0;
    costs.update({{"hardware", time->hardware},
                  {"step", seconds_figure(time->step_s)},
                  {"computes", time->compute_s},
                  {"waiting", fmt::format("{:.0f} %", 100 * waiting)},
                  {"efficiency", fmt::format("{:.3g} %", 100 * time->efficiency)}});
  }
  const auto& training = report.training;
  if (training) costs["tokens"] = amount_text(training->tokens_per_second);
  if (!training || !training->tokens) return costs;
  costs["duration"] = figure(training->seconds, duration_text(training->seconds));
  if (training->price) costs["price"] = figure(*training->price, amount_text(*training->price));
  return costs;
}

// The layouts in order, each with its number as given. The first ones have details.
Json layouts_data(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order,
                  const PageOptions& options) {
  const std::vector<size_t> front = pareto_front(layouts);
  Json list = Json::array();
  size_t detailed = 0;
  for (const size_t index : order) {
    const ComparedLayout& one = layouts[index];
    const Mesh& mesh = one.layout.mesh;
    Json data = {
        {"number", number_of(layouts, index)},
        {"name", (mesh.axes().empty() ? "one device" : to_string(mesh)) + " / " + described(one.layout)},
        {"devices", figure(mesh.devices())}};
    if (one.report)
      data.update(costs_of(*one.report));
    else
      data["reason"] = one.reason;
    if (std::find(front.begin(), front.end(), index) != front.end()) data["isFirst"] = true;
    if (one.report && ++detailed <= kMostInDetail) data["details"] = layout_details(one, options);
    list.push_back(std::move(data));
  }
  return list;
}

// `memory` is that of a device, which has the units.
std::string rate_text(double per_second, int64_t memory) {
  return bytes_beside(static_cast<int64_t>(std::min(per_second, 9e18)), memory) + " per s";
}

std::string link_text(const Rate& link, int64_t memory) {
  return fmt::format("{}latency {}, at most {}",
                     link.fixed_s > 0 ? fmt::format("{} and ", seconds_text(link.fixed_s)) : "",
                     seconds_text(link.latency_s), rate_text(link.bytes_per_s.most(), memory));
}

Json hardware_facts(const Hardware& hardware) {
  Json facts = Json::array();
  const auto add = [&](const std::string& name, const std::string& text) {
    facts.push_back(Json::array({name, text}));
  };
  const int64_t memory = memory_of(hardware);
  for (const auto& [dtype, flops] : hardware.flops)
    add("arithmetic, " + dtype, count_text(static_cast<int64_t>(std::min(flops, 9e18)), "FLOP") + " per s");
  add("memory", memory > 0 ? memory_text(memory) : "not limited");
  add("memory bandwidth", "at most " + rate_text(hardware.memory_bandwidth.most(), memory));
  if (hardware.step_overhead_s > 0) add("each kernel, besides", seconds_text(hardware.step_overhead_s));
  if (hardware.issue_s > 0)
    add("to issue a kernel or collective, beside the device", seconds_text(hardware.issue_s));
  if (hardware.program_overhead_s > 0) add("each step, besides", seconds_text(hardware.program_overhead_s));
  add("topology", to_string(hardware.topology));
  if (hardware.topology == Topology::kTwoLevel) {
    add("devices per node", grouped(hardware.devices_per_node));
    if (hardware.inside) add("links inside a node", link_text(*hardware.inside, memory));
    for (const Level& level : hardware.wider)
      add(fmt::format("links among {} devices", grouped(level.devices)), link_text(level.link, memory));
  }
  for (const auto& [axis, link] : hardware.axes)
    add(axis != "*"                ? "links over " + axis
        : hardware.axes.size() > 1 ? "links over other axes"
                                   : "links",
        link_text(link, memory) + (link.overlaps ? ", beside kernels" : ", not beside kernels"));
  return facts;
}

// Where the figures come from; what is code is marked.
Json origin_data(const ReportOrigin& origin, const std::string& model) {
  Json facts = Json::array();
  if (!origin.command.empty()) facts.push_back({"command", origin.command, true});
  if (!origin.version.empty()) facts.push_back({"made by", origin.version, false});
  facts.push_back({"model", model, false});
  if (!origin.sets.empty()) facts.push_back({"set", fmt::format("{}", fmt::join(origin.sets, ", ")), true});
  Json data = {{"facts", Json()}};
  if (const auto& hardware = origin.hardware) {
    facts.push_back(
        {"hardware", hardware->name + (hardware->doc.empty() ? "" : ": " + hardware->doc), false});
    data["hardware"] = hardware_facts(*hardware);
  }
  data["facts"] = std::move(facts);
  return data;
}

}  // namespace

std::string report_html(const std::vector<ComparedLayout>& layouts, const PageOptions& options) {
  const std::vector<size_t> order = best_first(layouts);
  const std::string model = layouts.empty() ? "" : layouts.front().model;
  Json data = {{"page", "costs"},
               {"model", model},
               {"hasBest", has_best(layouts)},
               {"layouts", layouts_data(layouts, order, options)},
               {"origin", origin_data(options.origin, model)}};
  std::string text = report_table(layouts, {.top = options.top, .parts = options.parts});
  for (const ComparedLayout& layout : layouts) {
    if (!layout.report) continue;
    data["entry"] = layout.report->entry;
    for (const std::string& warning : layout.report->warnings) text += "\n" + printable(warning) + "\n";
  }
  return html_page(model + ": cost report", data, text);
}

}  // namespace mtfc
