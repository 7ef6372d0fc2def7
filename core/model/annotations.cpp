#include "core/model/annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
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
};

void add_known(const Graph& graph, std::vector<Known>& known) {
  std::map<TensorId, size_t> positions;
  for (const TensorId id : graph.tensors().ids()) {
    const Tensor& tensor = graph.tensor(id);
    if (!tensor.from_model) continue;
    positions.emplace(id, known.size());
    known.push_back({tensor.name, {tensor.name}, tensor.type.dims});
  }
  for (const auto& [name, id] : graph.aliases())
    if (const auto at = positions.find(id); at != positions.end()) known[at->second].names.push_back(name);
  for (const Node& node : graph.nodes())
    if (node.loop)
      for (const LoopPart* part : {&node.loop->condition, &node.loop->body}) add_known(part->graph, known);
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
      own.push_back({state.name, {state.name}, state.type.dims});
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

// An annotation and whether it has matched anything, and which of its dimensions a matched tensor has.
struct Use {
  bool matched = false;
  std::vector<bool> dims;
};

class Matcher {
 public:
  Matcher(const Model& model, const Layout& layout)
      : model_(model), layout_(layout), uses_(layout.annotations.size()) {
    for (size_t i = 0; i < uses_.size(); ++i) uses_[i].dims.resize(layout.annotations[i].splits.size());
    if (!layout.mesh.axes().empty()) {
      stated_ = stated(model.annotations);
      if (model.decode) stated_in_decode_ = stated(model.decode->annotations);
    }
  }

  std::map<std::string, SharedAnnotation, std::less<>> main() {
    std::map<std::string, SharedAnnotation, std::less<>> found;
    std::vector<Known> known;
    add_known(model_.graph, known);
    add(known, stated_, nullptr, found);
    for (const auto& [variable, made] : followers(model_)) {
      const auto at = found.find(variable);
      add(made, {}, at == found.end() ? nullptr : at->second, found);
    }
    if (model_.train)
      for (const VariableDecl& state : shared_state(*model_.train))
        add({{state.name, {state.name}, state.type.dims}}, {}, nullptr, found);
    return found;
  }

  std::map<std::string, SharedAnnotation, std::less<>> decode() {
    std::map<std::string, SharedAnnotation, std::less<>> found;
    if (!model_.decode) return found;
    std::vector<Known> known;
    add_known(model_.decode->graph, known);
    add(known, stated_in_decode_, nullptr, found);
    return found;
  }

  std::map<std::string, Dims, std::less<>> all_dims() && { return std::move(all_dims_); }

  // Reports what has matched nothing.
  void finish() {
    for (size_t i = 0; i < uses_.size() && !model_.is_reduced; ++i) {
      const Annotation& annotation = layout_.annotations[i];
      if (!uses_[i].matched) {
        const bool is_pattern = is_name_pattern(annotation.pattern);
        diagnostics_.push_back(
            {annotation.location,
             is_pattern ? fmt::format("the pattern '{}' matches no tensor of the model", annotation.pattern)
                        : fmt::format("the model has no tensor '{}'", annotation.pattern),
             is_pattern ? "'*' stands for a part of a name without '/', '**' for any part"
                        : did_you_mean(annotation.pattern, names_)});
        continue;
      }
      for (size_t s = 0; s < annotation.splits.size(); ++s)
        if (!uses_[i].dims[s])
          diagnostics_.push_back(
              {annotation.splits[s].location,
               is_name_pattern(annotation.pattern)
                   ? fmt::format("no tensor that '{}' matches has a dimension '{}'", annotation.pattern,
                                 annotation.splits[s].dim)
                   : fmt::format("'{}' has no dimension '{}'", annotation.pattern, annotation.splits[s].dim),
               did_you_mean(annotation.splits[s].dim, dims_[i])});
    }
    if (!diagnostics_.empty()) throw UserError(diagnostics_);
  }

 private:
  using ByName = std::map<std::string, SharedAnnotation, std::less<>>;

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

  // The annotation of the layout that decides for a tensor, or -1.
  int deciding(const Known& tensor) {
    int best = -1;
    bool is_exact = false;
    for (size_t i = 0; i < layout_.annotations.size(); ++i) {
      const Annotation& annotation = layout_.annotations[i];
      const bool is_pattern = is_name_pattern(annotation.pattern);
      const auto fits = [&](const std::string& name) {
        return is_pattern ? matches_name(annotation.pattern, name) : annotation.pattern == name;
      };
      if (std::none_of(tensor.names.begin(), tensor.names.end(), fits)) continue;
      note_use(i, tensor.dims);
      if (is_pattern && is_exact) continue;
      best = static_cast<int>(i);
      is_exact = !is_pattern;
    }
    return best;
  }

  void note_use(size_t annotation, const Dims& dims) {
    Use& use = uses_[annotation];
    use.matched = true;
    const std::vector<Rule>& splits = layout_.annotations[annotation].splits;
    for (size_t s = 0; s < splits.size(); ++s)
      if (contains(dims, splits[s].dim)) use.dims[s] = true;
    dims_.resize(layout_.annotations.size());
    for (const Dim& dim : dims) dims_[annotation].push_back(dim.name);
  }

  // `inherited`: the annotation of the variable that the tensors belong to, or nullptr.
  void add(const std::vector<Known>& known, const std::map<std::string, Annotation>& stated,
           const SharedAnnotation& inherited, ByName& found) {
    for (const Known& tensor : known) {
      all_dims_.emplace(tensor.tensor, tensor.dims);
      names_.insert(names_.end(), tensor.names.begin(), tensor.names.end());
      if (const int at = deciding(tensor); at >= 0) {
        found[tensor.tensor] = made(layout_.annotations[static_cast<size_t>(at)], tensor.dims, layout_.mesh);
        continue;
      }
      for (const std::string& name : tensor.names)
        if (const auto own = stated.find(name); own != stated.end())
          found[tensor.tensor] = made(own->second, tensor.dims, layout_.mesh);
      if (inherited && found.count(tensor.tensor) == 0) found[tensor.tensor] = restricted(inherited, tensor);
    }
  }

  // The annotation of a variable as far as a tensor that belongs to it has its dimensions.
  SharedAnnotation restricted(const SharedAnnotation& annotation, const Known& tensor) const {
    const std::string variable = tensor.tensor.substr(0, tensor.tensor.rfind('/'));
    TensorAnnotation own{replicated(tensor.dims.size()), annotation->pattern, annotation->location};
    const TensorId id = model_.graph.find(variable);
    const Dims& dims = model_.graph.type(id).dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (const int at = position(tensor.dims, dims[d].name); at >= 0)
        own.sharding.dims[static_cast<size_t>(at)] = annotation->sharding.dims[d];
    return std::make_shared<const TensorAnnotation>(std::move(own));
  }

  const Model& model_;
  const Layout& layout_;
  std::vector<Use> uses_;
  std::vector<Diagnostic> diagnostics_;
  std::map<std::string, Annotation> stated_, stated_in_decode_;
  std::map<std::string, Dims, std::less<>> all_dims_;
  std::vector<std::string> names_;              // of all tensors
  std::vector<std::vector<std::string>> dims_;  // per annotation, those of the tensors that it matches
};

// `is_round`: the graph is a part of a loop, where the gradient of a variable is that of one round.
Graph annotated(Graph graph, const std::map<std::string, SharedAnnotation, std::less<>>& by_name,
                bool is_round) {
  return with_annotations(
      std::move(graph),
      [&](const Tensor& tensor) -> SharedAnnotation {
        if (is_round && tensor.name.ends_with("/grad")) return nullptr;
        const auto at = by_name.find(tensor.name);
        if (at == by_name.end() || at->second->sharding.dims.size() != tensor.type.dims.size())
          return nullptr;
        return at->second;
      },
      [&](const GraphLoop& loop) {
        GraphLoop copy = loop;
        for (LoopPart* part : {&copy.condition, &copy.body})
          part->graph = annotated(std::move(part->graph), by_name, true);
        return copy;
      });
}

}  // namespace

Annotations::Annotations(const Model& model, const Layout& layout) {
  Matcher matcher(model, layout);
  main_ = matcher.main();
  decode_ = matcher.decode();
  matcher.finish();
  dims_ = std::move(matcher).all_dims();
}

void Annotations::check_even(const Mesh& mesh, std::vector<Diagnostic>& diagnostics) const {
  std::set<std::string> reported;  // patterns
  for (const ByName* by_name : {&main_, &decode_})
    for (const auto& [name, annotation] : *by_name) {
      const Dims& dims = dims_.find(name)->second;
      for (size_t d = 0; d < dims.size(); ++d) {
        const AxisList& axes = annotation->sharding.dims[d];
        if (dims[d].size % mesh.size(axes) == 0 || !reported.insert(annotation->pattern).second) continue;
        diagnostics.push_back(
            {annotation->location,
             fmt::format("dimension '{}' of size {} of '{}' does not divide evenly over {} of size {}",
                         dims[d].name, dims[d].size, name, mesh.names(axes), mesh.size(axes)),
             "leave out --no-uneven to allow it"});
      }
    }
}

EntryGraph Annotations::applied(EntryGraph entry) const {
  const ByName& by_name = entry.name == "decode" ? decode_ : main_;
  if (!by_name.empty()) entry.graph = annotated(std::move(entry.graph), by_name, false);
  return entry;
}

SharedAnnotation Annotations::of_variable(const std::string& name) const {
  for (const ByName* by_name : {&main_, &decode_})
    if (const auto at = by_name->find(name); at != by_name->end()) return at->second;
  return nullptr;
}

}  // namespace mtfc
