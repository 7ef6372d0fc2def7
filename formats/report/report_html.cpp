#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/cost/part_times.h"
#include "formats/report/html_page.h"
#include "formats/report/report_writer.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

constexpr size_t kMostInDetail = 8;  // layouts; in a sweep over hundreds, all have their bars

// The text may break after a comma.
std::string place_of(const Layout& layout) {
  const std::string mesh = layout.mesh.axes().empty() ? "one device" : to_string(layout.mesh);
  std::string html;
  for (const char letter : html_escaped(mesh + " / " + described(layout))) {
    html += letter;
    if (letter == ',') html += "<wbr>";
  }
  return html;
}

// A number in a table: the text for people, the value for sorting.
template <typename Number>
std::string number_cell(Number value, const std::string& text) {
  return fmt::format("<td data-v=\"{}\">{}</td>", value, value == Number{} ? "" : text);
}

struct Bar {
  double value;
  const char* colour;
};

std::string bar(const std::vector<Bar>& parts, double most, const std::string& text) {
  std::string html = "<div><div class=bar>";
  for (const Bar& part : parts)
    html += fmt::format("<i style=\"width:{:.1f}%;background:{}\"></i>",
                        most > 0 ? 100 * part.value / most : 0, part.colour);
  return html + "</div><small>" + text + "</small></div>";
}

// The duration of a step and its communication that is not hidden behind kernels; without times, the
// arithmetic.
std::string work_bar(const CostReport& report, double most) {
  if (!report.time)
    return bar({{static_cast<double>(report.arithmetic.einsum_per_device), "var(--c1)"}}, most,
               count_text(report.arithmetic.einsum_per_device, "FLOP"));
  const double computes = std::min(report.time->compute_s, report.time->step_s);
  return bar({{computes, "var(--c1)"}, {report.time->step_s - computes, "var(--c3)"}}, most,
             seconds_text(report.time->step_s));
}

double work_of(const CostReport& report) {
  return report.time ? report.time->step_s : static_cast<double>(report.arithmetic.einsum_per_device);
}

std::string bars(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order) {
  double work = 0, sent = 0, memory = 0;
  bool timed = false;
  for (const CostReport& report : possible(layouts)) {
    timed = timed || report.time;
    work = std::max(work, work_of(report));
    sent = std::max(sent, static_cast<double>(report.communication.total.bytes_sent));
    memory = std::max(memory, static_cast<double>(report.memory.peak));
  }
  std::string html = fmt::format(
      "<div class=bars><span class=head>layout</span><span class=head>{}</span><span class=head>sent per "
      "device</span><span class=head>memory per device</span>",
      timed ? "step" : "einsum per device");
  const bool one_fits = has_best(layouts);
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const ComparedLayout& layout = layouts[order[rank]];
    html += fmt::format("<span class=\"what{}\">{} {}</span>", rank == 0 && one_fits ? " best" : "", rank + 1,
                        place_of(layout.layout));
    if (!layout.report) {
      html += "<span class=dim style=\"grid-column:span 3\">not possible: " + html_escaped(layout.reason) +
              "</span>";
      continue;
    }
    const CostReport& report = *layout.report;
    const std::string excess = excess_memory(report) > 0 ? fmt::format(", does not fit: {} too much",
                                                                       bytes_text(excess_memory(report)))
                                                         : "";
    html += work_bar(report, work) +
            bar({{static_cast<double>(report.communication.total.bytes_sent), "var(--c4)"}}, sent,
                bytes_text(report.communication.total.bytes_sent)) +
            bar({{static_cast<double>(report.memory.peak), "var(--c2)"}}, memory,
                bytes_text(report.memory.peak) + excess);
  }
  html += "</div>";
  if (timed)
    html +=
        "<p class=keys><span class=key><i style=\"background:var(--c1)\"></i>kernels</span><span "
        "class=key><i "
        "style=\"background:var(--c3)\"></i>communication that they do not hide</span></p>";
  return html;
}

// Each layout as a point, by its number: the shorter its step, the further left, and the less memory, the further down.
std::string points(const std::vector<ComparedLayout>& layouts, const std::vector<size_t>& order) {
  constexpr size_t kFewest = 3, kMost = 200;
  double work = 0, memory = 0;
  const std::vector<CostReport> reports = possible(layouts);
  for (const CostReport& report : reports) {
    work = std::max(work, work_of(report));
    memory = std::max(memory, static_cast<double>(report.memory.peak));
  }
  if (reports.size() < kFewest || !reports.front().time || work <= 0 || memory <= 0) return "";
  const std::vector<size_t> front = pareto_front(layouts);
  std::string html =
      "<h3>Time and memory</h3><p class=dim>The numbers are those of the list above. No other layout has as "
      "short a "
      "step, as little memory and as few devices as one that is filled.</p><div class=cloud>";
  for (size_t rank = 0; rank < std::min(kMost, order.size()); ++rank) {
    const ComparedLayout& layout = layouts[order[rank]];
    if (!layout.report) continue;
    const bool is_first = std::find(front.begin(), front.end(), order[rank]) != front.end();
    html += fmt::format(
        "<span{} style=\"left:{:.1f}%;bottom:{:.1f}%\" title=\"{}: {}, {}, {} devices\">{}</span>",
        is_first ? " class=front" : "", 95 * work_of(*layout.report) / work,
        90 * static_cast<double>(layout.report->memory.peak) / memory,
        html_escaped(to_string(layout.layout.mesh) + " / " + described(layout.layout)),
        seconds_text(work_of(*layout.report)), bytes_text(layout.report->memory.peak),
        layout.layout.mesh.devices(), rank + 1);
  }
  return html +
         fmt::format(
             "</div><p class=ends><span>0</span><span>step time, up to {}; memory, up to {}</span></p>",
             seconds_text(work), bytes_text(static_cast<int64_t>(memory)));
}

std::string figures(const CostReport& report) {
  std::string html = "<div class=figures>";
  const auto add = [&](const std::string& name, const std::string& value) {
    html += fmt::format("<div><b>{}</b><span>{}</span></div>", value, name);
  };
  if (report.time) {
    add("a step, on " + html_escaped(report.time->hardware), seconds_text(report.time->step_s));
    add("kernels", seconds_text(report.time->compute_s));
    add("communication", seconds_text(report.time->communication_s));
    add("efficiency (MFU)", fmt::format("{:.3g} %", 100 * report.time->efficiency));
  }
  if (report.training) {
    add("tokens per second", amount_text(report.training->tokens_per_second));
    if (report.training->tokens) add("for all tokens", duration_text(report.training->seconds));
    if (report.training->price) add("price", amount_text(*report.training->price));
  }
  add("devices", grouped(report.layout.mesh.devices()));
  add("parameters", count_text(report.parameters.count, ""));
  add("einsum per device", count_text(report.arithmetic.einsum_per_device, "FLOP"));
  add("duplication", fmt::format("{:.3g}", report.arithmetic.duplication));
  add("imbalance", fmt::format("{:.3g}", report.arithmetic.imbalance));
  add("sent per device", bytes_text(report.communication.total.bytes_sent));
  if (const auto& nodes = report.communication.between_nodes)
    add("sent to other nodes, per node", bytes_text(nodes->most()));
  add("collectives", grouped(report.communication.total.count));
  if (report.plan) {
    add("plan cost", report.plan->hardware.empty() ? grouped(plan_cost(report))
                                                   : seconds_text(plan_seconds(*report.plan)));
    add("above the bound by", fmt::format("{:.3g} %", 100 * plan_gap(*report.plan)));
  }
  add("memory at the peak, per device", bytes_text(report.memory.peak));
  if (report.device_memory > 0)
    add("of a device's memory", fit_text(report.memory.peak, report.device_memory));
  add("of which variables and state", bytes_text(report.memory.variables + report.memory.optimizer_state));
  return html + "</div>";
}

// All parts of the peak, to the byte.
std::string memory_table(const MemoryCost& memory) {
  std::vector<std::pair<std::string, int64_t>> parts;
  int64_t variables = memory.variables, state = memory.optimizer_state;
  for (const auto& [name, group] : memory.groups) {
    parts.insert(parts.end(), {{"variables of " + name, group.variables},
                               {"optimizer state of " + name, group.optimizer_state}});
    variables -= group.variables;
    state -= group.optimizer_state;
  }
  const std::string other = parts.empty() ? "" : "other ";
  parts.insert(parts.end(), {{other + "variables", variables},
                             {other + "optimizer state", state},
                             {"caches", memory.caches},
                             {"inputs", memory.inputs},
                             {"activations", memory.activations_at_peak},
                             {"gradients", memory.gradients},
                             {"workspace", memory.workspace},
                             {"alignment and gaps", memory.gaps},
                             {"together", memory.peak}});
  std::string html =
      "<div class=wide><table class=list><thead><tr><th>memory at the peak<th>bytes</tr></thead><tbody>";
  for (const auto& [name, bytes] : parts)
    html += fmt::format("<tr><td>{}</td><td data-v=\"{}\">{}</td></tr>\n", html_escaped(name), bytes,
                        grouped(bytes));
  return html + "</tbody></table></div>";
}

// The place of a collective in the page; `section` is the number of its layout.
std::string anchor(size_t section, size_t step) {
  return fmt::format("collective-{}-{}", section, step);
}

// `listed`: the collectives that the page lists, the largest first. The table says what they are for.
std::string collectives_table(const ComparedLayout& layout, size_t section,
                              const std::vector<ReshardStep>& listed) {
  if (listed.empty()) return "";
  const Mesh& mesh = layout.layout.mesh;
  std::string html = fmt::format(
      "<h3>Collectives</h3><p class=dim>{}. <code>mtfc explain MODEL STEP</code>, with the same options, "
      "says what "
      "would remove one.</p><div class=wide><table class=list><thead><tr><th>tensor<th>sent<th>step<th "
      "class=word>collective<th class=word>from, to<th class=word>given by<th class=word>needed "
      "by</tr></thead>"
      "<tbody>",
      listed.size() < layout.reshards.size()
          ? fmt::format("The {} of {} that send most", grouped(static_cast<int64_t>(listed.size())),
                        grouped(static_cast<int64_t>(layout.reshards.size())))
          : fmt::format("All {}", listed.size()));
  const auto operation = [](const OperationPlace& place) {
    return fmt::format("<span title=\"{}\">{} {}</span>", html_escaped(place.source),
                       html_escaped(place.kind), html_escaped(place.name));
  };
  for (const ReshardStep& reshard : listed) {
    std::string readers;
    for (const OperationPlace& reader : reshard.readers)
      readers += (readers.empty() ? "" : ", ") + operation(reader);
    // The result of an operation that moves pieces has dimensions of its own.
    const std::string to = reshard.moves.empty() ? form_text(reshard.type, reshard.to, mesh) : reshard.moves;
    html += fmt::format(
        "<tr id={}><td>{}</td>{}<td data-v=\"{}\">{}</td><td class=word>{}<br>over {}</td><td class=\"word "
        "flow\">{}<br>{}</td><td class=\"word flow\">{}</td><td class=\"word flow\">{}</td></tr>\n",
        anchor(section, reshard.step.index()), html_escaped(reshard.tensor),
        number_cell(reshard.all_bytes(), bytes_text(reshard.all_bytes())), reshard.step.index(),
        reshard.step.index(), to_string(reshard.collective.kind),
        html_escaped(mesh.names(reshard.collective.axes)),
        html_escaped(form_text(reshard.type, reshard.from, mesh)), html_escaped(to), operation(reshard.maker),
        readers);
  }
  return html + "</tbody></table></div>";
}

std::string steps_table(const CostReport& report, size_t section, const std::vector<ReshardStep>& listed,
                        size_t top) {
  std::set<size_t> linked;
  for (const ReshardStep& reshard : listed) linked.insert(reshard.step.index());
  const std::vector<size_t> order = costliest_steps(report);
  const size_t count = std::min(top, order.size());
  std::string html = fmt::format(
      "<h3>Operations</h3><p class=dim>{}; click a column's head to sort by it. Memory is everything that a "
      "device holds during the step.</p><div class=wide><table class=list><thead><tr><th>result<th "
      "class=word>kind<th "
      "class=word>phase<th>time<th>FLOP<th>sent<th class=word>over<th>memory<th>step</tr></thead><tbody>",
      count < order.size() ? fmt::format("The {} costliest of {}", grouped(static_cast<int64_t>(count)),
                                         grouped(static_cast<int64_t>(order.size())))
                           : fmt::format("All {}", order.size()));
  for (size_t i = 0; i < count; ++i) {
    const StepCost& step = report.steps[order[i]];
    const auto at = static_cast<size_t>(step.index);
    const std::string kind = linked.contains(at)
                                 ? fmt::format("<a href=\"#{}\">{}</a>", anchor(section, at), step.kind)
                                 : step.kind;
    html += fmt::format("<tr><td title=\"{}\">{}</td><td class=word>{}</td><td class=word>{}</td>",
                        html_escaped(step.source), html_escaped(step.name), kind, to_string(step.phase));
    html += number_cell(step.time.seconds, seconds_text(step.time.seconds)) +
            number_cell(step.count.flops, count_text(step.count.flops, "")) +
            number_cell(step.count.bytes_sent, bytes_text(step.count.bytes_sent));
    const int64_t alive = bytes_alive(report, step);
    html += fmt::format("<td class=word>{}</td>{}<td data-v=\"{}\">{}</td></tr>\n",
                        html_escaped(report.layout.mesh.names(step.axes)),
                        number_cell(alive, bytes_text(alive)), step.index, step.index);
  }
  return html + "</tbody></table></div>";
}

// For each part of the model two bars: its kernels and collectives, and the least time at peak rates.
std::string parts_table(const CostReport& report, size_t depth) {
  if (!report.time) return "";
  const std::vector<PartTime> parts = part_times(report, depth);
  if (parts.empty()) return "";
  const double most = parts.front().kernels_s + parts.front().collectives_s;
  std::string html =
      "<h3>Time by part</h3><p class=keys><span class=key><i "
      "style=\"background:var(--c1)\"></i>kernels</span> "
      "<span class=key><i style=\"background:var(--c3)\"></i>collectives</span> <span class=key><i "
      "style=\"background:var(--c2)\"></i>at peak rates</span></p><p class=dim>Blocks that are repeated are "
      "added "
      "up. Collectives may run beside kernels.</p><div class=wide><table class=list><thead><tr><th>part<th "
      "class=word>time<th>kernels<th>collectives<th>at peak<th>share</tr></thead><tbody>";
  for (const PartTime& part : parts) {
    const double together = part.kernels_s + part.collectives_s;
    html += fmt::format("<tr><td>{}</td><td class=word>{}{}</td>{}{}{}<td data-v=\"{}\">{:.0f} %</td></tr>\n",
                        part.part.empty() ? "(no block)" : html_escaped(part.part),
                        bar({{part.kernels_s, "var(--c1)"}, {part.collectives_s, "var(--c3)"}}, most, ""),
                        bar({{part.at_peak_s, "var(--c2)"}}, most, ""),
                        number_cell(part.kernels_s, seconds_text(part.kernels_s)),
                        number_cell(part.collectives_s, seconds_text(part.collectives_s)),
                        number_cell(part.at_peak_s, seconds_text(part.at_peak_s)),
                        together > 0 ? part.at_peak_s / together : 0,
                        together > 0 ? 100 * part.at_peak_s / together : 0);
  }
  return html + "</tbody></table></div>";
}

std::string alive_table(const CostReport& report, size_t top) {
  std::string html = fmt::format(
      "<h3>Tensors alive at the peak{}</h3><div class=wide><table class=list><thead><tr><th>tensor<th "
      "class=word>kind<th>"
      "bytes<th>from step<th>to step</tr></thead><tbody>",
      report.memory.peak_step.empty() ? "" : ", in " + html_escaped(report.memory.peak_step));
  for (size_t i = 0; i < std::min(top, report.alive_at_peak.size()); ++i) {
    const AliveTensor& tensor = report.alive_at_peak[i];
    html += fmt::format(
        "<tr><td>{}</td><td class=word>{}</td>{}<td data-v=\"{}\">{}</td><td data-v=\"{}\">{}</td></tr>\n",
        html_escaped(tensor.name), tensor.kind, number_cell(tensor.bytes, bytes_text(tensor.bytes)),
        tensor.first_step, tensor.first_step, tensor.last_step, tensor.last_step);
  }
  return html + "</tbody></table></div>";
}

std::string detail(const ComparedLayout& layout, size_t section, size_t top, size_t parts) {
  const CostReport& report = *layout.report;
  const std::vector<ReshardStep> listed = largest(layout.reshards, top);
  std::string html = figures(report);
  const std::string timeline = timeline_drawing(report);
  if (!timeline.empty()) html += "<h3>A step over time</h3>" + timeline;
  html += "<h3>Memory over the steps</h3>" + memory_drawing(report) + memory_table(report.memory);
  html += parts_table(report, parts);
  html += steps_table(report, section, listed, top) + collectives_table(layout, section, listed) +
          alive_table(report, top);
  for (const std::string& warning : report.warnings)
    html += "<p class=dim>warning: " + html_escaped(warning) + "</p>";
  return html + "<h3>Tensors and the ranks that hold them</h3>" + tensor_drawings(report);
}

}  // namespace

std::string report_html(const std::vector<ComparedLayout>& layouts, size_t top, size_t parts) {
  const std::vector<size_t> order = best_first(layouts);
  const std::string model = html_escaped(layouts.empty() ? "" : layouts.front().model);
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=en><head><meta charset=utf-8><meta name=viewport "
      "content=\"width=device-width,initial-scale=1\">\n<title>{}: cost "
      "report</title>\n<style>{}</style></head>"
      "\n<body><h1>{}</h1>",
      model, kHtmlStyle, model);
  size_t shown = 0;
  for (const size_t number : order) {
    if (!layouts[number].report) continue;
    const CostReport& report = *layouts[number].report;
    if (shown == 0) html += fmt::format("<p class=dim>{}, predicted by mtfc</p>", html_escaped(report.entry));
    if (shown == 0 && layouts.size() > 1) html += bars(layouts, order) + points(layouts, order);
    if (++shown > kMostInDetail) continue;
    html += "<h2>" + place_of(report.layout) + "</h2>" + detail(layouts[number], shown, top, parts);
  }
  if (shown > kMostInDetail)
    html +=
        fmt::format("<p class=dim>The best {} of {} layouts are shown in detail.</p>", kMostInDetail, shown);
  return html + fmt::format("<script>{}</script></body></html>\n", kHtmlScript);
}

}  // namespace mtfc
