#include "core/model/annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/diagnostics/suggest.h"
#include "core/model/entry_points.h"
#include "core/model/training.h"
#include "core/tensors/name_pattern.h"

namespace mtfc {
namespace {

// A tensor that annotations can name.
struct Known {
  std::string tensor;              // its name in the graph
  std::vector<std::string> names;  // that name and others
  Dims dims;
  bool is_leaf = false;  // an input or a variable
};

// `is_part`: the graph is a part of a loop, whose inputs are values of the loop.
void add_known(const Graph& graph, bool is_part, std::vector<Known>& known) {
  std::map<TensorId, size_t> positions;
  for (const TensorId id : graph.tensors().ids()) {
    const Tensor& tensor = graph.tensor(id);
    if (!tensor.from_model) continue;
    positions.emplace(id, known.size());
    const NodeKind kind = graph.node(tensor.node).kind;
    known.push_back({tensor.name,
                     {tensor.name},
                     tensor.type.dims,
                     !is_part && (kind == NodeKind::kInput || kind == NodeKind::kVariable)});
  }
  for (const auto& [name, id] : graph.aliases())
    if (const auto at = positions.find(id); at != positions.end()) known[at->second].names.push_back(name);
  for (const Node& node : graph.nodes())
    if (node.loop)
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body})
        add_known(part->graph, true, known);
}

// The gradients and states that training makes of a variable, by the name of the variable.
std::map<std::string, std::vector<Known>> followers(const Model& model) {
  std::map<std::string, std::vector<Known>> made;
  if (!model.train) return made;
  for (const VariableDecl& variable : model.variables) {
    if (!variable.trainable) continue;
    std::vector<Known>& own = made[variable.name];
    const std::string gradient = variable.name + "/grad";
    own.push_back({gradient, {gradient}, variable.type.dims});
    for (const VariableDecl& state : state_of(*model.train, variable))
      own.push_back({state.name, {state.name}, state.type.dims, true});
  }
  return made;
}

Sharding sharding_of(const std::vector<Rule>& splits, const Dims& dims, const Mesh& mesh) {
  Sharding sharding = replicated(dims.size());
  for (const Rule& split : splits)
    if (const int at = position(dims, split.dim); at >= 0)
      for (const int axis : split.axes)
        if (mesh.size(axis) > 1) sharding.dims[static_cast<size_t>(at)].push_back(axis);
  return sharding;
}

SharedAnnotation made(const Annotation& annotation, const Dims& dims, const Mesh& mesh) {
  return std::make_shared<const TensorAnnotation>(
      TensorAnnotation{sharding_of(annotation.splits, dims, mesh), annotation.pattern, annotation.location});
}

// An annotation or a limited rule of the layout, and what it has matched so far.
struct Claim {
  const std::string& pattern;
  std::vector<const Rule*> splits;
  const Location& location;
  bool matched = false;
  std::vector<bool> dims;             // those of the splits that a matched tensor has
  std::vector<std::string> all_dims;  // of the matched tensors

  bool is_pattern() const { return is_name_pattern(pattern); }
  bool fits(const Known& tensor) const {
    return std::any_of(tensor.names.begin(), tensor.names.end(),
                       [&](const std::string& name) { return matches_name(pattern, name); });
  }
  void note_use(const Dims& of_tensor) {
    matched = true;
    for (size_t s = 0; s < splits.size(); ++s)
      if (contains(of_tensor, splits[s]->dim)) dims[s] = true;
    for (const Dim& dim : of_tensor) all_dims.push_back(dim.name);
  }
};

// Finds the claims that may fit a tensor without a look at all of them: there may be one for each tensor.
class ClaimIndex {
 public:
  explicit ClaimIndex(const std::vector<Claim>& claims) {
    for (size_t i = 0; i < claims.size(); ++i)
      if (claims[i].is_pattern())
        patterns_.push_back(i);
      else
        exact_[claims[i].pattern].push_back(i);
  }

  // Their positions, ascending: those with one of its names, and all patterns.
  std::vector<size_t> of(const Known& tensor) const {
    std::vector<size_t> found = patterns_;
    for (const std::string& name : tensor.names)
      if (const auto at = exact_.find(name); at != exact_.end())
        found.insert(found.end(), at->second.begin(), at->second.end());
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

 private:
  std::vector<size_t> patterns_;
  std::unordered_map<std::string_view, std::vector<size_t>> exact_;
};

class Matcher {
 public:
  Matcher(const Model& model, const Layout& layout) : model_(model), layout_(layout) {
    for (const Annotation& annotation : layout.annotations) {
      annotations_.push_back({annotation.pattern, {}, annotation.location, false, {}, {}});
      for (const Rule& split : annotation.splits) annotations_.back().splits.push_back(&split);
      annotations_.back().dims.resize(annotation.splits.size());
    }
    for (const auto& [rule, pattern] : layout.limited_rules)
      limited_rules_.push_back({pattern, {&rule}, rule.location, false, {false}, {}});
    annotation_index_ = ClaimIndex(annotations_);
    rule_index_ = ClaimIndex(limited_rules_);
    if (!layout.mesh.axes().empty()) {
      stated_ = stated(model.annotations);
      if (model.decode) stated_in_decode_ = stated(model.decode->annotations);
    }
  }

  StatedTensors main() {
    StatedTensors found;
    std::vector<Known> known;
    add_known(model_.graph, false, known);
    add(known, stated_, nullptr, found);
    for (const auto& [variable, made] : followers(model_)) {
      const auto at = found.find(variable);
      add(made, {}, at == found.end() ? nullptr : at->second.stated.annotation, found);
    }
    if (model_.train)
      for (const VariableDecl& state : shared_state(*model_.train))
        add({{state.name, {state.name}, state.type.dims, true}}, {}, nullptr, found);
    return found;
  }

  StatedTensors decode() {
    StatedTensors found;
    if (!model_.decode) return found;
    std::vector<Known> known;
    add_known(model_.decode->graph, false, known);
    add(known, stated_in_decode_, nullptr, found);
    return found;
  }

  // Reports what has matched nothing.
  void finish() {
    if (!model_.is_reduced) {
      for (const Claim& claim : limited_rules_) check_use(claim);
      for (const Claim& claim : annotations_) check_use(claim);
    }
    if (!diagnostics_.empty()) throw UserError(diagnostics_);
  }

 private:
  // Annotations of the model, in terms of the axes of the mesh. Dimensions are those of the tensors.
  std::map<std::string, Annotation> stated(const std::vector<ModelAnnotation>& annotations) {
    std::map<std::string, Annotation> found;
    std::vector<std::string> axes;
    for (const Axis& axis : layout_.mesh.axes()) axes.push_back(axis.name);
    for (const ModelAnnotation& annotation : annotations) {
      Annotation in_mesh{annotation.tensor, {}, annotation.location};
      for (const NamedSplit& split : annotation.splits) {
        Rule rule{split.dim, {}, annotation.location};
        for (const NamedAxis& axis : split.axes) {
          rule.axes.push_back(layout_.mesh.find(axis.name));
          if (rule.axes.back() >= 0) continue;
          rule.axes.pop_back();
          std::string hint = did_you_mean(axis.name, axes);
          if (hint.empty()) hint = fmt::format("its axes are {}", fmt::join(axes, ", "));
          Diagnostic unknown{axis.location,
                             fmt::format("'{}' is split over '{}', but the mesh has no such axis",
                                         annotation.tensor, axis.name),
                             hint};
          // A block states it once for all its calls.
          const auto is_same = [&](const Diagnostic& other) {
            return other.location.line == axis.location.line &&
                   other.location.column == axis.location.column && other.location.file == axis.location.file;
          };
          if (std::none_of(diagnostics_.begin(), diagnostics_.end(), is_same))
            diagnostics_.push_back(std::move(unknown));
        }
        in_mesh.splits.push_back(std::move(rule));
      }
      found.insert_or_assign(annotation.tensor, std::move(in_mesh));
    }
    return found;
  }

  void check_use(const Claim& claim) {
    if (!claim.matched) {
      diagnostics_.push_back(
          {claim.location,
           claim.is_pattern() ? fmt::format("the pattern '{}' matches no tensor of the model", claim.pattern)
                              : fmt::format("the model has no tensor '{}'", claim.pattern),
           claim.is_pattern() ? "'*' stands for a part of a name without '/', '**' for any part"
                              : did_you_mean(claim.pattern, names_)});
      return;
    }
    for (size_t s = 0; s < claim.splits.size(); ++s)
      if (const Rule& split = *claim.splits[s]; !claim.dims[s])
        diagnostics_.push_back(
            {split.location,
             claim.is_pattern()
                 ? fmt::format("no tensor that '{}' matches has a dimension '{}'", claim.pattern, split.dim)
                 : fmt::format("'{}' has no dimension '{}'", claim.pattern, split.dim),
             did_you_mean(split.dim, claim.all_dims)});
  }

  // The annotation of the layout that decides for a tensor, or -1.
  int deciding(const Known& tensor) {
    int best = -1;
    for (const size_t i : annotation_index_.of(tensor)) {
      Claim& claim = annotations_[i];
      if (!claim.fits(tensor)) continue;
      claim.note_use(tensor.dims);
      const bool is_weaker =
          claim.is_pattern() && best >= 0 && !annotations_[static_cast<size_t>(best)].is_pattern();
      if (!is_weaker) best = static_cast<int>(i);
    }
    return best;
  }

  // The limited rules for a tensor, the first one of each dimension before those that it takes the place of: exact
  // names before patterns, and later ones before earlier ones.
  std::vector<DimRule> rules_of(const Known& tensor) {
    std::vector<DimRule> found;
    const std::vector<size_t> candidates = rule_index_.of(tensor);
    for (const bool is_pattern : {false, true})
      for (size_t c = candidates.size(); c-- > 0;) {
        const size_t i = candidates[c];
        Claim& claim = limited_rules_[i];
        if (claim.is_pattern() != is_pattern || !claim.fits(tensor)) continue;
        claim.note_use(tensor.dims);
        const Rule& rule = *claim.splits.front();
        if (const int at = position(tensor.dims, rule.dim); at >= 0)
          found.push_back({static_cast<size_t>(at), rule.axes,
                           to_string(layout_.limited_rules[i], layout_.mesh), rule.location});
      }
    return found;
  }

  // What the rules say of a tensor for which there are limited ones. They come before what is said of the variable that
  // the tensor belongs to (nullptr for others) and before rules for all tensors: these lose the axes that they use.
  SharedAnnotation by_rules(const Known& tensor, const std::vector<DimRule>& limited,
                            const TensorAnnotation* of_variable) {
    std::vector<const DimRule*> deciding(tensor.dims.size(), nullptr);
    AxisList taken;
    for (const DimRule& rule : limited)
      if (!deciding[rule.dim]) {
        deciding[rule.dim] = &rule;
        taken.insert(taken.end(), rule.axes.begin(), rule.axes.end());
      }
    const auto left = [&](AxisList axes) {
      std::erase_if(axes, [&](int axis) { return contains(taken, axis); });
      return axes;
    };
    TensorAnnotation made{{}, "", limited.front().location, of_variable != nullptr, true};
    std::vector<Rule> splits;
    for (size_t d = 0; d < deciding.size(); ++d) {
      const std::string& dim = tensor.dims[d].name;
      if (deciding[d]) {
        splits.push_back({dim, deciding[d]->axes, deciding[d]->location});
        made.rules.push_back(*deciding[d]);
      } else if (of_variable) {
        splits.push_back({dim, left(of_variable->sharding.dims[d]), of_variable->location});
        for (const DimRule& rule : of_variable->rules)
          if (rule.dim == d) made.rules.push_back({d, left(rule.axes), rule.text, rule.location});
      } else if (const Rule* rule = find_rule(layout_, dim)) {
        splits.push_back({dim, left(rule->axes), rule->location});
      }
    }
    check_one_tensor(tensor, splits, made.location);
    made.sharding = sharding_of(splits, tensor.dims, layout_.mesh);
    return std::make_shared<const TensorAnnotation>(std::move(made));
  }

  // Reports two dimensions of a tensor that the rules split over one axis: once for each pair of dimensions.
  void check_one_tensor(const Known& tensor, const std::vector<Rule>& splits, const Location& location) {
    for (size_t i = 0; i < splits.size(); ++i)
      for (size_t j = i + 1; j < splits.size(); ++j) {
        const AxisList &one = splits[i].axes, &two = splits[j].axes;
        const auto shared = std::find_first_of(one.begin(), one.end(), two.begin(), two.end());
        if (shared == one.end() || !conflicts_.emplace(std::minmax(splits[i].dim, splits[j].dim)).second)
          continue;
        diagnostics_.push_back(
            {location,
             fmt::format("the rules {} and {} split tensor '{}' twice over the same axis '{}'",
                         to_string(splits[i], layout_.mesh), to_string(splits[j], layout_.mesh),
                         tensor.tensor, layout_.mesh.axes()[static_cast<size_t>(*shared)].name),
             fmt::format("give '{}' or '{}' another axis, or leave one of them whole", splits[i].dim,
                         splits[j].dim)});
      }
  }

  // `inherited`: the annotation of the variable that the tensors belong to, or nullptr.
  void add(const std::vector<Known>& known, const std::map<std::string, Annotation>& stated,
           const SharedAnnotation& inherited, StatedTensors& found) {
    for (const Known& tensor : known) {
      names_.insert(names_.end(), tensor.names.begin(), tensor.names.end());
      StatedLayout own = stated_of(tensor, stated, inherited);
      if (own.annotation || own.offered)
        found.insert_or_assign(tensor.tensor, StatedTensor{tensor.dims, std::move(own)});
    }
  }

  // If the layout propagates, limited rules offer axes to tensors that operations make.
  StatedLayout stated_of(const Known& tensor, const std::map<std::string, Annotation>& stated,
                         const SharedAnnotation& inherited) {
    std::vector<DimRule> rules = rules_of(tensor);  // they are used, even where an annotation decides
    if (SharedAnnotation own = annotation_of(tensor, stated)) return {std::move(own)};
    const SharedAnnotation of_variable = inherited ? restricted(inherited, tensor) : nullptr;
    if (rules.empty() || (of_variable && !of_variable->is_by_rules)) return {of_variable};
    if (layout_.propagate && !tensor.is_leaf && !of_variable)
      return {nullptr, std::make_shared<const std::vector<DimRule>>(std::move(rules))};
    return {by_rules(tensor, rules, of_variable.get())};
  }

  // The annotation that the layout or the model gives the tensor itself, or nullptr.
  SharedAnnotation annotation_of(const Known& tensor, const std::map<std::string, Annotation>& stated) {
    if (const int at = deciding(tensor); at >= 0)
      return made(layout_.annotations[static_cast<size_t>(at)], tensor.dims, layout_.mesh);
    SharedAnnotation found;
    for (const std::string& name : tensor.names)
      if (const auto own = stated.find(name); own != stated.end())
        found = made(own->second, tensor.dims, layout_.mesh);
    return found;
  }

  // The annotation of a variable as far as a tensor that belongs to it has its dimensions.
  SharedAnnotation restricted(const SharedAnnotation& annotation, const Known& tensor) const {
    const std::string variable = tensor.tensor.substr(0, tensor.tensor.rfind('/'));
    TensorAnnotation own{replicated(tensor.dims.size()), annotation->pattern, annotation->location, true,
                         annotation->is_by_rules};
    const TensorId id = model_.graph.find(variable);
    const Dims& dims = model_.graph.type(id).dims;
    for (size_t d = 0; d < dims.size(); ++d) {
      const int at = position(tensor.dims, dims[d].name);
      if (at < 0) continue;
      own.sharding.dims[static_cast<size_t>(at)] = annotation->sharding.dims[d];
      for (const DimRule& rule : annotation->rules)
        if (rule.dim == d)
          own.rules.push_back({static_cast<size_t>(at), rule.axes, rule.text, rule.location});
    }
    return std::make_shared<const TensorAnnotation>(std::move(own));
  }

  const Model& model_;
  const Layout& layout_;
  std::vector<Claim> annotations_, limited_rules_;  // in the order of the layout
  ClaimIndex annotation_index_{annotations_}, rule_index_{limited_rules_};
  std::set<std::pair<std::string, std::string>> conflicts_;  // dimensions of one tensor, reported
  std::vector<Diagnostic> diagnostics_;
  std::map<std::string, Annotation> stated_, stated_in_decode_;
  std::vector<std::string> names_;  // of all tensors
};

Graph annotated(Graph graph, const StatedTensors& by_name) {
  return with_layout(
      std::move(graph),
      [&](const Tensor& tensor) -> StatedLayout {
        const auto at = by_name.find(tensor.name);
        if (at == by_name.end() || at->second.dims.size() != tensor.type.dims.size()) return {};
        return at->second.stated;
      },
      [&](const GraphLoop& loop) {
        GraphLoop copy = loop;
        for (LoopPart* part : {&copy.condition, &copy.body})
          part->graph = annotated(std::move(part->graph), by_name);
        return copy;
      });
}

}  // namespace

Annotations::Annotations(const Model& model, const Layout& layout) {
  Matcher matcher(model, layout);
  main_ = matcher.main();
  decode_ = matcher.decode();
  matcher.finish();
}

void Annotations::check_even(const Mesh& mesh, std::vector<Diagnostic>& diagnostics) const {
  std::set<std::pair<std::string, std::string>> reported;  // an annotation or a rule, and a dimension
  for (const StatedTensors* entry : {&main_, &decode_})
    for (const auto& [name, tensor] : *entry) {
      const auto check = [&](const AxisList& axes, size_t d, const std::string& by,
                             const Location& location) {
        const Dim& dim = tensor.dims[d];
        if (dim.size % mesh.size(axes) == 0 || !reported.emplace(by, dim.name).second) return;
        diagnostics.push_back(
            {location,
             fmt::format("dimension '{}' of size {} of '{}' does not divide evenly over {} of size {}",
                         dim.name, dim.size, name, mesh.names(axes), mesh.size(axes)),
             "leave out --no-uneven to allow it"});
      };
      const auto& [annotation, offered] = tensor.stated;
      if (offered)
        for (const DimRule& rule : *offered) check(rule.axes, rule.dim, rule.text, rule.location);
      if (!annotation) continue;
      for (const DimRule& rule : annotation->rules) check(rule.axes, rule.dim, rule.text, rule.location);
      // The other rules are checked once, for all tensors.
      if (!annotation->is_by_rules)
        for (size_t d = 0; d < tensor.dims.size(); ++d)
          check(annotation->sharding.dims[d], d, annotation->pattern, annotation->location);
    }
}

EntryGraph Annotations::applied(EntryGraph entry) const {
  const StatedTensors& stated = of_entry(entry.name);
  if (!stated.empty()) entry.graph = annotated(std::move(entry.graph), stated);
  return entry;
}

SharedAnnotation Annotations::of(const std::string& entry, const std::string& tensor) const {
  const StatedTensors& stated = of_entry(entry);
  const auto at = stated.find(tensor);
  return at == stated.end() ? nullptr : at->second.stated.annotation;
}

SharedAnnotation Annotations::of_variable(const std::string& name) const {
  for (const StatedTensors* entry : {&main_, &decode_})
    if (const auto at = entry->find(name); at != entry->end()) return at->second.stated.annotation;
  return nullptr;
}

bool is_planned(const Layout& layout, const Annotations& annotations) {
  return layout.propagate || !annotations.empty();
}

}  // namespace mtfc
