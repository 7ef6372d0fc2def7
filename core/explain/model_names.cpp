#include "core/explain/model_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/compile/pipeline.h"
#include "core/rewrite/remove_dead.h"
#include "core/tensors/name_pattern.h"

namespace mtfc {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

}  // namespace

std::string over_numbers(const std::string& name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    pattern += name[i];
    if (name[i] != '_') continue;
    size_t end = i + 1;
    while (end < name.size() && is_digit(name[end])) ++end;
    if (end == i + 1 || end == name.size() || name[end] != '/') continue;
    pattern += '*';
    i = end - 1;
  }
  return pattern;
}

ModelNames::ModelNames(const Model& model, const std::string& entry) : entry_(entry) {
  add(declared_entry(model, entry), true);
  std::set<std::string> seen;
  for (const auto& [name, place] : places_)
    if (const std::string pattern = over_numbers(name); pattern != name && !seen.insert(pattern).second)
      several_.insert(pattern);
}

// `is_used`: something depends on what the entry computes.
void ModelNames::add(const EntryGraph& entry, bool is_used) {
  const Graph& graph = entry.graph;
  const PerTensor<bool> needed = needed_tensors(entry);
  for (const Tensor& tensor : graph.tensors()) {
    if (!tensor.from_model) continue;
    places_.emplace(tensor.name, graph.node(tensor.node).origin->location);
    const TensorId id = graph.node(tensor.node).results[static_cast<size_t>(tensor.result)];
    if (!is_used || !needed[id]) unused_.insert(tensor.name);
  }
  for (const auto& [name, id] : graph.aliases())
    if (graph.tensor(id).from_model) aliases_.emplace(name, graph.tensor(id).name);
  const auto is_needed = [&](TensorId id) { return needed[id]; };
  for (const Node& node : graph.nodes())
    if (node.loop)
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body})
        add(entry_of(*part, entry.name, 0),
            is_used && std::any_of(node.results.begin(), node.results.end(), is_needed));
}

UserError ModelNames::not_computed(const std::string& name) const {
  return unused_.contains(canonical(name))
             ? UserError(
                   fmt::format("nothing in {} uses '{}', so it is left out of the program", entry_, name),
                   "name it among the outputs of the model to keep it")
             : UserError(fmt::format("'{}' is not in the program of {}: the compiler has simplified it away",
                                     name, entry_),
                         "--entry names another entry point");
}

const std::string& ModelNames::canonical(const std::string& name) const {
  const auto alias = aliases_.find(name);
  return alias == aliases_.end() ? name : alias->second;
}

Location ModelNames::place(const std::string& tensor) const {
  const auto at = places_.find(tensor);
  return at == places_.end() ? Location{} : at->second;
}

std::string ModelNames::over_layers(const std::string& tensor) const {
  const std::string pattern = over_numbers(tensor);
  return several_.contains(pattern) ? pattern : tensor;
}

bool ModelNames::fits(const std::string& pattern, const std::string& tensor) const {
  const auto names_it = [&](const std::string& name) { return matches_name(pattern, name); };
  return names_it(tensor) || std::any_of(aliases_.begin(), aliases_.end(), [&](const auto& alias) {
           return alias.second == tensor && names_it(alias.first);
         });
}

std::vector<std::string> ModelNames::all() const {
  std::vector<std::string> names;
  for (const auto& [name, place] : places_) names.push_back(name);
  for (const auto& [name, tensor] : aliases_) names.push_back(name);
  return names;
}

}  // namespace mtfc
