#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/cost/step_groups.h"
#include "core/program/repeated_names.h"
#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

std::string step_name(const StepGroup& group) {
  const auto time = [](const StepCost* step) { return seconds_text(step->time.seconds); };
  const bool all_alike = std::all_of(group.members.begin(), group.members.end(), [&](const StepCost* step) {
    return time(step) == time(group.members.front());
  });
  std::vector<FoldedMember> members;
  std::set<std::string> sources;
  for (const StepCost* step : group.members) {
    members.push_back(
        {step->name, fmt::format("step {}{}", step->index, all_alike ? "" : ", " + time(step))});
    sources.insert(step->source);
  }
  std::string name = html_folded(members) + and_others(group.sum);
  if (sources.size() == 1 && !sources.begin()->empty())
    name += " <small>" + html_escaped(*sources.begin()) + "</small>";
  return name;
}

// The place of a collective in the page.
std::string collective_anchor(size_t section, const CollectiveGroup& group) {
  return fmt::format("collective-{}-{}", section, group.members.front()->step.index());
}

// The operations of one kind, whose names have one form; with their location in the model if they share it.
std::string operations_markup(const std::vector<const OperationPlace*>& places) {
  std::vector<std::string> names;
  std::set<std::string> sources;
  for (const OperationPlace* place : places) {
    names.push_back(place->name);
    sources.insert(place->source);
  }
  std::string html = html_escaped(places.front()->kind) + " " + html_escaped(folded(names));
  if (sources.size() == 1 && !sources.begin()->empty())
    html += " <small>" + html_escaped(*sources.begin()) + "</small>";
  return html;
}

std::string readers_markup(const CollectiveGroup& group) {
  std::map<std::string, std::vector<const OperationPlace*>> readers;
  for (const ReshardStep* reshard : group.members)
    for (const OperationPlace& reader : reshard->readers) readers[operation_form(reader)].push_back(&reader);
  std::string html;
  for (const auto& [form, places] : readers) html += (html.empty() ? "" : ", ") + operations_markup(places);
  return html;
}

}  // namespace

std::string collectives_table(const CostReport& report, size_t section,
                              const std::vector<CollectiveGroup>& groups, size_t top) {
  const Mesh& mesh = report.layout.mesh;
  const size_t count = std::min(top, groups.size());
  if (count == 0) return "";
  std::string html =
      fmt::format(
          "<p class=dim>{}. <code>mtfc explain MODEL STEP</code>, with the same options, says what would "
          "remove one.</p>",
          html_share(count, groups.size(), "that send most")) +
      html_table("collectives",
                 {{"tensor"},
                  {"sent"},
                  {"runs"},
                  {"step"},
                  {"collective", true},
                  {"from, to", true},
                  {"given by", true},
                  {"needed by", true}},
                 1);
  for (size_t i = 0; i < count; ++i) {
    const CollectiveGroup& group = groups[i];
    const ReshardStep& first = *group.members.front();
    std::vector<FoldedMember> members;
    std::vector<const OperationPlace*> makers;
    int64_t runs = 0;
    for (const ReshardStep* reshard : group.members) {
      members.push_back({reshard->tensor, fmt::format("step {}", reshard->step.index())});
      makers.push_back(&reshard->maker);
      runs += reshard->runs;
    }
    html += fmt::format(
        "<tr id={}>{}{}{}{}", collective_anchor(section, group), html_row_head(html_folded(members)),
        html_number(group.bytes, bytes_in(report, group.bytes)), html_number(runs, grouped(runs)),
        fmt::format("<td data-v=\"{0}\">{0}</td>", first.step.index()));
    html += fmt::format(
        "<td class=word>{}<br>over {}</td><td class=\"word flow\">{}<br>{}</td><td class=\"word "
        "flow\">{}</td><td class=\"word flow\">{}</td></tr>\n",
        to_string(first.collective.kind), html_escaped(mesh.names(first.collective.axes)),
        html_escaped(to_string(first.from, mesh)), html_escaped(target_text(first, mesh)),
        operations_markup(makers), readers_markup(group));
  }
  return html + std::string(html_table_end());
}

std::string operations_table(const CostReport& report, size_t section,
                             const std::vector<CollectiveGroup>& groups, size_t top) {
  std::map<size_t, std::string> anchors;  // by step
  for (size_t i = 0; i < std::min(top, groups.size()); ++i)
    for (const ReshardStep* reshard : groups[i].members)
      anchors[reshard->step.index()] = collective_anchor(section, groups[i]);
  const std::vector<StepGroup> steps = costliest_groups(report);
  const size_t count = std::min(top, steps.size());
  std::string html =
      fmt::format("<p class=dim>{}. Memory is the most that a device holds during the step.</p>",
                  html_share(count, steps.size(), "costliest")) +
      html_table("operations",
                 {{"result"},
                  {"kind", true},
                  {"phase", true},
                  {"runs"},
                  {"time"},
                  {"FLOP"},
                  {"sent"},
                  {"over", true},
                  {"memory"},
                  {"step"}},
                 report.time ? std::optional<size_t>(4) : std::nullopt);
  for (size_t i = 0; i < count; ++i) {
    const StepGroup& group = steps[i];
    const StepCost& sum = group.sum;
    const auto link = anchors.find(static_cast<size_t>(sum.index));
    html +=
        "<tr>" + html_row_head(step_name(group)) +
        html_words(link == anchors.end() ? html_escaped(sum.kind)
                                         : fmt::format("<a href=\"#{}\">{}</a>", link->second, sum.kind)) +
        html_words(to_string(sum.phase)) + html_number(sum.count.runs, grouped(sum.count.runs)) +
        html_number(sum.time.seconds, seconds_text(sum.time.seconds)) +
        html_number(sum.count.flops, count_text(sum.count.flops, "")) +
        html_number(sum.count.bytes_sent, bytes_in(report, sum.count.bytes_sent)) +
        html_words(html_escaped(report.layout.mesh.names(sum.axes))) +
        html_number(group.most_alive, bytes_in(report, group.most_alive)) +
        fmt::format("<td data-v=\"{0}\">{0}</td></tr>\n", sum.index);
  }
  return html + std::string(html_table_end());
}

}  // namespace mtfc
