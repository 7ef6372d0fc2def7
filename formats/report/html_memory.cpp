#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/program/repeated_names.h"
#include "formats/report/html_parts.h"
#include "formats/report/html_sections.h"
#include "formats/text/html_text.h"
#include "formats/text/quantity.h"

namespace mtfc {
namespace {

struct MemoryPart {
  std::string name;
  int64_t bytes;
  int colour;
};

// Tensors alive at the peak that differ only in the number of a repetition.
struct AliveGroup {
  std::vector<const AliveTensor*> members;
  int64_t bytes = 0;
};

std::vector<AliveGroup> alive_groups(const std::vector<AliveTensor>& alive) {
  std::map<std::string, size_t> places;
  std::vector<AliveGroup> groups;
  for (const AliveTensor& tensor : alive) {
    const std::string form = fmt::format("{}\n{}\n{}", unnumbered(tensor.name), tensor.kind, tensor.bytes);
    const auto [at, is_new] = places.try_emplace(form, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].members.push_back(&tensor);
    groups[at->second].bytes += tensor.bytes;
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const AliveGroup& a, const AliveGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

}  // namespace

std::string memory_table(const MemoryCost& memory) {
  std::vector<MemoryPart> parts;
  int64_t variables = memory.variables, state = memory.optimizer_state;
  for (const auto& [name, group] : memory.groups) {
    const int own = colour::of_group(parts.size() / 2);
    parts.insert(parts.end(), {{"variables of " + name, group.variables, own},
                               {"optimizer state of " + name, group.optimizer_state, own}});
    variables -= group.variables;
    state -= group.optimizer_state;
  }
  const std::string other = parts.empty() ? "" : "other ";
  parts.insert(parts.end(), {{other + "variables", variables, colour::kVariables},
                             {other + "optimizer state", state, colour::kVariables},
                             {"caches", memory.caches, colour::kVariables},
                             {"inputs", memory.inputs, colour::kInputs},
                             {"activations", memory.activations_at_peak, colour::kActivations},
                             {"gradients", memory.gradients, colour::kGradients},
                             {"workspace", memory.workspace, colour::kWorkspace},
                             {"alignment and gaps", memory.gaps, colour::kMemory},
                             {"together", memory.peak, colour::kMemory}});
  std::string html = html_table("memory at the peak", {{"part", true}, {"bytes"}, {"share", true}});
  for (const auto& [name, bytes, own] : parts)
    html += fmt::format(
        "<tr>{}<td data-v=\"{}\">{}</td>{}</tr>\n", html_row_head(html_escaped(name)), bytes, grouped(bytes),
        html_words(html_bar({{static_cast<double>(bytes), own}}, static_cast<double>(memory.peak))));
  return html + std::string(html_table_end());
}

std::string alive_table(const CostReport& report, size_t top) {
  const std::vector<AliveGroup> groups = alive_groups(report.alive_at_peak);
  const size_t count = std::min(top, groups.size());
  if (count == 0) return "";
  std::string html =
      fmt::format("<p class=dim>{}{}.</p>", html_share(count, groups.size(), "largest"),
                  report.memory.peak_step.empty() ? "" : ", in " + html_escaped(report.memory.peak_step)) +
      html_table("tensors alive at the peak",
                 {{"tensor"}, {"kind", true}, {"tensors"}, {"bytes"}, {"from step"}, {"to step"}}, 3);
  for (size_t i = 0; i < count; ++i) {
    const AliveGroup& group = groups[i];
    std::vector<FoldedMember> members;
    int from = group.members.front()->first_step, to = group.members.front()->last_step;
    for (const AliveTensor* tensor : group.members) {
      members.push_back({tensor->name, fmt::format("steps {} to {}", tensor->first_step, tensor->last_step)});
      from = std::min(from, tensor->first_step);
      to = std::max(to, tensor->last_step);
    }
    html += fmt::format("<tr>{}{}{}{}<td data-v=\"{}\">{}</td><td data-v=\"{}\">{}</td></tr>\n",
                        html_row_head(html_folded(members)), html_words(group.members.front()->kind),
                        html_number(members.size(), grouped(static_cast<int64_t>(members.size()))),
                        html_number(group.bytes, bytes_in(report, group.bytes)), from, from, to, to);
  }
  return html + std::string(html_table_end());
}

}  // namespace mtfc
