#include <fmt/format.h>

#include <algorithm>

#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// `memory` is that of a device, which has the units.
std::string rate_text(double per_second, int64_t memory) {
  return bytes_beside(static_cast<int64_t>(std::min(per_second, 9e18)), memory) + " per s";
}

std::string flops_text(double per_second) {
  return count_text(static_cast<int64_t>(std::min(per_second, 9e18)), "FLOP") + " per s";
}

std::string link_text(const Rate& link, int64_t memory) {
  return fmt::format("latency {}, at most {}", seconds_text(link.latency_s),
                     rate_text(link.bytes_per_s.most(), memory));
}

using Facts = std::vector<std::pair<std::string, std::string>>;

// Plain text.
Facts hardware_facts(const Hardware& hardware) {
  Facts facts;
  const int64_t memory = memory_of(hardware);
  for (const auto& [dtype, flops] : hardware.flops)
    facts.emplace_back("arithmetic, " + dtype, flops_text(flops));
  facts.emplace_back("memory", memory > 0 ? memory_text(memory) : "not limited");
  facts.emplace_back("memory bandwidth", "at most " + rate_text(hardware.memory_bandwidth.most(), memory));
  if (hardware.step_overhead_s > 0)
    facts.emplace_back("each kernel, besides", seconds_text(hardware.step_overhead_s));
  const bool has_levels = hardware.topology == Topology::kTwoLevel;
  facts.emplace_back("topology", to_string(hardware.topology));
  if (has_levels) facts.emplace_back("devices per node", grouped(hardware.devices_per_node));
  if (has_levels && hardware.inside)
    facts.emplace_back("links inside a node", link_text(*hardware.inside, memory));
  for (const auto& [axis, link] : hardware.axes)
    facts.emplace_back(
        axis == "*" ? (hardware.axes.size() > 1 ? "links over other axes" : "links") : "links over " + axis,
        link_text(link, memory) + (link.overlaps ? ", beside kernels" : ", not beside kernels"));
  return facts;
}

void add_fact(std::string& html, const std::string& name, const std::string& markup) {
  html += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", html_escaped(name), markup);
}

}  // namespace

std::string origin_list(const ReportOrigin& origin, const std::string& model) {
  std::string html = "<dl class=origin>";
  if (!origin.command.empty()) add_fact(html, "command", "<code>" + html_escaped(origin.command) + "</code>");
  if (!origin.version.empty()) add_fact(html, "made by", html_escaped(origin.version));
  add_fact(html, "model", html_escaped(model));
  std::string sets;
  for (const std::string& set : origin.sets)
    sets += (sets.empty() ? "" : ", ") + ("<code>" + html_escaped(set) + "</code>");
  if (!sets.empty()) add_fact(html, "set", sets);
  if (!origin.hardware) return html + "</dl>";
  const Hardware& hardware = *origin.hardware;
  add_fact(html, "hardware", html_escaped(hardware.name + (hardware.doc.empty() ? "" : ": " + hardware.doc)));
  html += "</dl><p class=dim>The figures of one device of this hardware:</p><dl class=origin>";
  for (const auto& [name, text] : hardware_facts(hardware)) add_fact(html, name, html_escaped(text));
  return html + "</dl>";
}

}  // namespace mtfc
