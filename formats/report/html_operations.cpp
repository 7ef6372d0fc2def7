#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/program/repeated_names.h"
#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

// Steps that differ only in the number of a repetition, in the order of the program.
struct StepGroup {
  StepCost sum;  // the first of them, with the counts and times of all
  std::vector<const StepCost*> members;
  int64_t most_alive = 0;
};

std::vector<StepGroup> step_groups(const CostReport& report) {
  std::map<std::string, size_t> places;
  std::vector<StepGroup> groups;
  for (const StepCost& step : report.steps) {
    const std::string form =
        fmt::format("{}\n{}\n{}\n{}\n{}\n{}", unnumbered(step.name), step.kind, to_string(step.phase),
                    report.layout.mesh.names(step.axes), step.count.flops, step.count.bytes_sent);
    const auto [at, is_new] = places.try_emplace(form, groups.size());
    if (is_new) groups.push_back({step, {}, 0});
    StepGroup& group = groups[at->second];
    if (!is_new) {
      group.sum.time.seconds += step.time.seconds;
      group.sum.count.flops += step.count.flops;
      group.sum.count.bytes_sent += step.count.bytes_sent;
      group.sum.count.runs += step.count.runs;
    }
    group.members.push_back(&step);
    group.most_alive = std::max(group.most_alive, bytes_alive(report, step));
  }
  return groups;
}

// The groups in the order of costliest_steps().
std::vector<StepGroup> costliest_groups(const CostReport& report) {
  const std::vector<StepGroup> groups = step_groups(report);
  CostReport sums;
  sums.arithmetic = report.arithmetic;
  sums.communication = report.communication;
  if (report.time) sums.time.emplace();
  for (const StepGroup& group : groups) sums.steps.push_back(group.sum);
  std::vector<StepGroup> ordered;
  for (const size_t index : costliest_steps(sums)) ordered.push_back(groups[index]);
  return ordered;
}

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
  std::string name = html_folded(members);
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

std::string form_of(const OperationPlace& place) {
  return place.kind + "\n" + unnumbered(place.name);
}

std::string readers_markup(const CollectiveGroup& group) {
  std::map<std::string, std::vector<const OperationPlace*>> readers;
  for (const ReshardStep* reshard : group.members)
    for (const OperationPlace& reader : reshard->readers) readers[form_of(reader)].push_back(&reader);
  std::string html;
  for (const auto& [form, places] : readers) html += (html.empty() ? "" : ", ") + operations_markup(places);
  return html;
}

// The result of an operation that moves pieces has dimensions of its own.
std::string target_text(const ReshardStep& reshard, const Mesh& mesh) {
  return reshard.moves.empty() ? form_text(reshard.type, reshard.to, mesh) : reshard.moves;
}

std::string collective_form(const ReshardStep& reshard, const Mesh& mesh) {
  std::set<std::string> readers;
  for (const OperationPlace& reader : reshard.readers) readers.insert(form_of(reader));
  std::string form = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", unnumbered(reshard.tensor),
                                 to_string(reshard.collective.kind), mesh.names(reshard.collective.axes),
                                 form_text(reshard.type, reshard.from, mesh), target_text(reshard, mesh),
                                 reshard.all_bytes(), form_of(reshard.maker));
  for (const std::string& reader : readers) form += "\n" + reader;
  return form;
}

}  // namespace

std::vector<CollectiveGroup> collective_groups(const std::vector<ReshardStep>& reshards, const Mesh& mesh) {
  std::map<std::string, size_t> places;
  std::vector<CollectiveGroup> groups;
  for (const ReshardStep& reshard : reshards) {
    const auto [at, is_new] = places.try_emplace(collective_form(reshard, mesh), groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].members.push_back(&reshard);
    groups[at->second].bytes += reshard.all_bytes();
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const CollectiveGroup& a, const CollectiveGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

std::string collectives_table(const Mesh& mesh, size_t section, const std::vector<CollectiveGroup>& groups,
                              size_t top) {
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
    html += fmt::format("<tr id={}>{}{}{}{}", collective_anchor(section, group),
                        html_row_head(html_folded(members)),
                        html_number(group.bytes, bytes_text(group.bytes)), html_number(runs, grouped(runs)),
                        fmt::format("<td data-v=\"{0}\">{0}</td>", first.step.index()));
    html += fmt::format(
        "<td class=word>{}<br>over {}</td><td class=\"word flow\">{}<br>{}</td><td class=\"word "
        "flow\">{}</td><td class=\"word flow\">{}</td></tr>\n",
        to_string(first.collective.kind), html_escaped(mesh.names(first.collective.axes)),
        html_escaped(form_text(first.type, first.from, mesh)), html_escaped(target_text(first, mesh)),
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
        html_number(sum.count.bytes_sent, bytes_text(sum.count.bytes_sent)) +
        html_words(html_escaped(report.layout.mesh.names(sum.axes))) +
        html_number(group.most_alive, bytes_text(group.most_alive)) +
        fmt::format("<td data-v=\"{0}\">{0}</td></tr>\n", sum.index);
  }
  return html + std::string(html_table_end());
}

}  // namespace mtfc
