#include "core/compile/ring_names.h"

#include <algorithm>
#include <iterator>

#include "core/tensors/name_pattern.h"

namespace mtfc {

void RingNames::add(const Graph& graph) {
  for (const Tensor& tensor : graph.tensors()) names_.insert(tensor.name);
  for (const auto& [name, id] : graph.aliases())
    if (name != graph.tensor(id).name) further_[graph.tensor(id).name].insert(name);
  for (const Node& node : graph.nodes())
    if (node.loop)
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body}) add(part->graph);
}

std::vector<std::string> RingNames::further(const std::string& name) const {
  const auto at = further_.find(name);
  return at == further_.end() ? std::vector<std::string>()
                              : std::vector<std::string>(at->second.begin(), at->second.end());
}

std::vector<RingRule> RingNames::resolved(const Layout& layout) const {
  Layout resolved = layout;
  std::set<std::string> renamed;
  for (const auto& [name, further] : further_) {
    const auto names_it = [&](const RingRule& rule) { return further.contains(rule.pattern); };
    const auto fits = [&](const RingRule& rule) {
      return matches_name(rule.pattern, name) ||
             std::any_of(further.begin(), further.end(),
                         [&](const std::string& other) { return matches_name(rule.pattern, other); });
    };
    const RingRule* own = find_ring(layout, name);
    if (own && own->pattern == name) continue;
    auto rule = std::find_if(layout.rings.begin(), layout.rings.end(), names_it);
    if (rule != layout.rings.end()) {
      renamed.insert(rule->pattern);
    } else {
      const auto last = std::find_if(layout.rings.rbegin(), layout.rings.rend(), fits);
      if (last == layout.rings.rend() || &*last == own) continue;
      rule = std::prev(last.base());
    }
    resolved.rings.push_back({name, rule->turns, rule->location});
  }
  std::erase_if(resolved.rings, [&](const RingRule& rule) {
    return renamed.contains(rule.pattern) && !names_.contains(rule.pattern);
  });
  return resolved.rings;
}

}  // namespace mtfc
